# SPDX-License-Identifier: Apache-2.0
"""Who gives the memory, who counts it, and which handler a graph may hold."""

import ctypes

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
from scratch import library
from scratch import smooth
from scratch import smooth_allocating

from jax_ffi_ops.kit.load import abi

_SIZE = 1000
_BYTES = 4 * _SIZE
# What XLA adds for itself: tables of addresses.
_SOME = 1000


def _mean(x):
  return (np.roll(x, 1) + x + np.roll(x, -1)) / 3


def _compile(function):
  return jax.jit(function).lower(np.zeros(_SIZE, np.float32)).compile()


class ScratchTest(parameterized.TestCase):

  @parameterized.parameters(0, 1, 2, 3, _SIZE)
  def test_values(self, size):
    x = np.random.default_rng(size).normal(size=size).astype(np.float32)
    expected = _mean(_mean(x))
    np.testing.assert_allclose(jax.jit(smooth)(x), expected, atol=1e-6)

  def test_an_unread_result_is_temporary(self):
    memory = _compile(smooth).memory_analysis()
    self.assertEqual(memory.output_size_in_bytes, _BYTES)
    self.assertBetween(memory.temp_size_in_bytes, _BYTES, _BYTES + _SOME)

  def test_an_unread_result_is_not_dropped(self):
    """The handler would refuse a call without it, as it does here."""
    vector = f"f32[{_SIZE}]{{0}}"
    text = _compile(smooth).as_text()
    self.assertIn(f"= ({vector}, {vector}) custom-call(", text)
    one = jax.ShapeDtypeStruct((_SIZE,), np.float32)
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "expected 2 but got 1"
    ):
      _call("example_smooth_result", one)

  def test_xla_gives_the_memory_to_others_afterwards(self):
    """Two calls need the array between them, and temporary memory once."""
    memory = _compile(lambda x: smooth(smooth(x))).memory_analysis()
    self.assertLess(memory.temp_size_in_bytes, 2 * _BYTES + _SOME)

  def test_the_allocator_has_none_on_the_cpu(self):
    """XLA cannot count, either, what a handler will ask for."""
    program = _compile(smooth_allocating)
    memory = program.memory_analysis()
    self.assertLess(memory.temp_size_in_bytes, _SOME)
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "RESOURCE_EXHAUSTED: no 4000 bytes"
    ):
      jax.block_until_ready(program(np.zeros(_SIZE, np.float32)))

  def test_what_a_cuda_graph_may_hold(self):
    """With --config=cuda; else it looks at the handlers for the CPU alone."""
    handlers = ctypes.CDLL(library.path)
    for name in ("example_smooth_result", "example_smooth_allocator"):
      traits = {
          device: abi.read_metadata(
              handlers[f"{name}_{device}"]
          ).command_buffer_compatible
          for device in library.register(name)
      }
      self.assertFalse(traits.pop("cpu"))
      for trait in traits.values():
        self.assertEqual(trait, name == "example_smooth_result")

  @parameterized.parameters(
      ("result", (5, 4), "y must have 4 elements, as x, got 5"),
      ("result", (4, 3), "temporary must have 4 elements, as x, got 3"),
      ("allocator", (5,), "y must have 4 elements, as x, got 5"),
  )
  def test_wrong_sizes(self, name, sizes, message):
    results = [jax.ShapeDtypeStruct((n,), np.float32) for n in sizes]
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      _call(f"example_smooth_{name}", results, size=4)


def _call(target, results, size=_SIZE):
  x = np.zeros(size, np.float32)
  jax.block_until_ready(jax.ffi.ffi_call(target, results)(x))


if __name__ == "__main__":
  absltest.main()
