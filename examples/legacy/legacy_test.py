# SPDX-License-Identifier: Apache-2.0
"""What still works, what XLA says about it, and what cannot be reported."""

import ctypes
import os
import pathlib
import signal
import struct
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jaxlib
from legacy import LIBRARY
from legacy import pack
from legacy import scale
from legacy import typed
import numpy as np

_X = np.arange(5, dtype=np.float32)


def _run(*lines):
  """Runs Python in a process of its own."""
  return subprocess.run(
      [sys.executable, "-c", "\n".join(("import jax, legacy", *lines))],
      capture_output=True,
      env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
      text=True,
  )


class LegacyTest(parameterized.TestCase):

  @parameterized.product(version=(1, 2, 3), factor=(2.5, -1.7))
  def test_values(self, version, factor):
    program = jax.jit(lambda x: scale(x, factor, version)).lower(_X)
    self.assertIn(f"@example_legacy_{version}(", program.as_text())
    if version != 1:  # The default, which is not written.
      self.assertIn(f"api_version = {version} :", program.as_text())
    expected = np.float32(factor) * _X
    np.testing.assert_array_equal(program.compile()(_X), expected)
    np.testing.assert_array_equal(typed(_X, factor=factor), expected)

  def test_the_descriptor_may_have_any_bytes(self):
    """That of -1.7 is no text in UTF-8; test_values has sent it."""
    self.assertEqual(pack(5, 2.5), struct.pack("<qf4x", 5, 2.5))
    with self.assertRaises(UnicodeDecodeError):
      pack(5, -1.7).decode()

  @parameterized.parameters(
      (1, "API_VERSION_ORIGINAL"), (2, "API_VERSION_STATUS_RETURNING"), (3, "")
  )
  def test_xla_logs_an_error(self, version, name):
    done = _run(
        f"x = legacy.scale(jax.numpy.ones(3), 2, {version})",
        "print(x.tolist())",
    )
    self.assertEqual(done.stdout, "[2.0, 2.0, 2.0]\n", done.stderr)
    if name:
      message = f"Custom call API version `{name}` is not supported by XLA:CPU"
      self.assertIn(message, done.stderr)
    else:
      self.assertNotIn("Custom call", done.stderr)

  @parameterized.parameters(
      ("b'ab'", "the descriptor must have 16 bytes, got 2"),
      ("legacy.pack(-1, 2)", "n must be 0 or more, got -1"),
  )
  def test_a_failure_ends_the_process(self, descriptor, message):
    done = _run(
        "x = jax.numpy.ones(3)",
        "call = jax.ffi.ffi_call(",
        "    'example_legacy_3', jax.ShapeDtypeStruct((3,), x.dtype),",
        "    custom_call_api_version=3,",
        f"    legacy_backend_config={descriptor})",
        "call(x).block_until_ready()",
    )
    self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
    self.assertIn(message, done.stderr)

  def test_jaxlib_does_not_export_how_to_report_one(self):
    folder = pathlib.Path(jaxlib.__file__).parent
    libraries = [ctypes.CDLL(str(path)) for path in folder.glob("*.so")]
    exported = [hasattr(x, "XlaCustomCallStatusSetFailure") for x in libraries]
    self.assertNotEmpty(exported)
    self.assertNotIn(True, exported)

  def test_ffi_reports_one(self):
    call = jax.ffi.ffi_call(
        "example_typed", jax.ShapeDtypeStruct((4,), np.float32)
    )
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "y must have 5 elements, as x, got 4"
    ):
      call(_X, factor=np.float32(2)).block_until_ready()

  def test_what_is_built_for_cuda(self):
    """With --config=cuda."""
    functions = ctypes.CDLL(LIBRARY)
    for name in ("example_legacy_3_cuda", "example_typed_cuda"):
      self.assertEqual(hasattr(functions, name), "CUDA" in os.environ)


if __name__ == "__main__":
  absltest.main()
