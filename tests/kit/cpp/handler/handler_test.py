# SPDX-License-Identifier: Apache-2.0
"""XLA_FFI_OPS_DEFINE_HANDLER: symbols, traits, and errors of every kind."""

import ctypes

from absl.testing import absltest
from absl.testing import parameterized
import handlers
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.load import abi

_ERRORS = {
    "error": "NOT_FOUND: kit_test_fail: gone",
    "exception": "INTERNAL: kit_test_fail: thrown",
    "number": "INTERNAL: kit_test_fail: unknown exception",
    "error_of_loop": "OUT_OF_RANGE: kit_test_fail: 20",
    "later_error": "NOT_FOUND: kit_test_fail: gone later",
    "later_exception": "INTERNAL: kit_test_fail: thrown later",
    "future_error": "INTERNAL: kit_test_fail: of a future",
}


def _fail(*operands, **attributes):
  result = jax.ShapeDtypeStruct((1,), np.float32)
  call = jax.ffi.ffi_call("kit_test_fail", result, has_side_effect=True)
  return jax.block_until_ready(call(*operands, **attributes))


class ErrorsTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    handlers.register("handler/handler_ext", "kit_test_fail")
    cls.x = jnp.zeros(1, np.float32)

  def check(self, message, *operands, **attributes):
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      _fail(*operands, **attributes)

  @parameterized.parameters(*_ERRORS.items())
  def test_error(self, how, message):
    for _ in range(3):
      self.check(f"^{message}$", self.x, how=how)

  def test_the_process_goes_on(self):
    for how in _ERRORS:
      with self.assertRaises(jax.errors.JaxRuntimeError):
        _fail(self.x, how=how)
      _fail(self.x, how="nothing")

  # These are found by XLA's headers, which do not know the name.
  def test_decoding(self):
    x = self.x
    named = "^INVALID_ARGUMENT: kit_test_fail: .*"
    self.check(named + "arguments: expected 1 but got 2", x, x, how="")
    self.check(named + "arguments: expected 1 but got 0", how="")
    self.check(named + "attributes: expected 1 but got 0", x)
    attribute = r"Failed to decode(.|\n)*attributes that do not fit: how$"
    self.check(named + attribute, x, why="")
    self.check(named + attribute, x, how=np.int64(1))
    self.check(named + "Failed to decode", jnp.zeros((1, 1)), how="")
    self.check(named + "Failed to decode", jnp.zeros(1, int), how="")


class SymbolsTest(absltest.TestCase):

  def test_one_handler_for_every_device(self):
    library = handlers.load("handler/cuda_stub")
    for suffix, in_command_buffers in (("_cpu", False), ("_cuda", True)):
      described = abi.read_metadata(library["kit_test_stub" + suffix])
      self.assertEqual(described.command_buffer_compatible, in_command_buffers)
      self.assertFalse(described.stateful)

  def test_without_cuda_there_is_the_cpu_alone(self):
    library = handlers.load("handler/handler_ext")
    self.assertIsInstance(library.kit_test_fail_cpu, ctypes._CFuncPtr)
    self.assertFalse(hasattr(library, "kit_test_fail_cuda"))
    described = abi.read_metadata(library.kit_test_fail_cpu)
    self.assertFalse(described.command_buffer_compatible)


if __name__ == "__main__":
  absltest.main()
