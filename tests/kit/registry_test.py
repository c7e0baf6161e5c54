# SPDX-License-Identifier: Apache-2.0
"""Two libraries with one FFI target, and one library that is loaded twice."""

import importlib.util
import os
import pathlib
import re
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.ops import rms_norm as module
import python_process

_PATH = pathlib.Path(jax_ffi_ops.__file__).parent / "ops/librms_norm_ext.so"
_TARGET = "xla_ffi_ops_rms_norm_fwd"

# Each runs in a process of its own, with the path of the library and of a copy.
_PRELUDE = f"""
import sys
import jax
import numpy as np
from jax_ffi_ops import kit

TARGET = {_TARGET!r}
first, second = map(kit.Library, sys.argv[1:])

def by_jax(library, **kwargs):
  handler = library._library[TARGET + "_cpu"]
  jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), **kwargs)

def call():
  from jax_ffi_ops import rms_norm, softmax
  x = np.ones((2, 4), np.float32)
  np.testing.assert_allclose(rms_norm(x), x, rtol=1e-5)
  np.testing.assert_allclose(softmax(x), x / 4, rtol=1e-5)
"""


class RegistryTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    folder = self.enter_context(tempfile.TemporaryDirectory())
    self.copy = shutil.copy(_PATH, os.path.join(folder, "libcopy.so"))

  def run_program(self, *lines):
    """Runs lines of a program; returns the last one of its errors."""
    program = "\n".join((_PRELUDE, *lines))
    process = python_process.run("-c", program, _PATH, self.copy)
    return (process.stderr.splitlines() or [""])[-1] * bool(process.returncode)

  @parameterized.product(
      started=("", "jax.devices()"),
      first=("first.register(TARGET)", "by_jax(first)"),
  )
  def test_two_libraries(self, started, first):
    refused = self.run_program(started, first, "second.register(TARGET)")
    self.assertRegex(
        refused,
        f"^ImportError: {re.escape(repr(self.copy))} has the FFI target"
        f" '{_TARGET}' for cpu, which {re.escape(repr(str(_PATH)))} has"
        " registered already",
    )

  def test_operations_and_other_targets_work_after_the_error(self):
    problem = self.run_program(
        "first.register(TARGET)",
        "try: second.register(TARGET)",
        "except ImportError: call()",
        "else: raise AssertionError",
    )
    self.assertEqual(problem, "")

  def test_handlers_that_are_no_ffi_targets_may_have_the_name(self):
    problem = self.run_program(
        "by_jax(second, api_version=0)", "first.register(TARGET)", "call()"
    )
    self.assertEqual(problem, "")

  def test_one_library_by_two_paths(self):
    os.remove(self.copy)
    os.symlink(_PATH, self.copy)
    problem = self.run_program(
        "by_jax(first)", "first.register(TARGET)", "second.register(TARGET)",
        "call()", "first.register(TARGET)", "second.register(TARGET)",
    )  # fmt: skip
    self.assertEqual(problem, "")

  def test_what_only_the_backend_knows(self):
    error = jax.errors.JaxRuntimeError("INVALID_ARGUMENT: Duplicate")
    with mock.patch.object(jax.ffi, "register_ffi_target", side_effect=error):
      with self.assertRaisesRegex(
          ImportError, f"'{_TARGET}' in .* cannot .* for cpu: .*Duplicate"
      ):
        kit.Library(_PATH).register(_TARGET)

  def check_op(self, op):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(op(x), jax_ffi_ops.rms_norm(x))

  def test_reload(self):
    before = jax_ffi_ops.rms_norm
    for _ in range(2):
      self.check_op(importlib.reload(module).rms_norm)
    # What was imported before is an op still.
    x = jax.ShapeDtypeStruct((2, 4), np.float32)
    self.assertIn("handler", str(kit.explain(before, x)))

  def test_second_import_path(self):
    spec = importlib.util.spec_from_file_location("other", module.__file__)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    self.check_op(other.rms_norm)


if __name__ == "__main__":
  absltest.main()
