# SPDX-License-Identifier: Apache-2.0
"""A program that was exported here runs in processes that only jax is in."""

import json
import os
import pathlib
import subprocess
import sys

from absl.testing import absltest
import export_step
import jax
from jax import export
import numpy as np

_STEPS = 3
_HERE = pathlib.Path(__file__).parent
_PACKAGES = pathlib.Path(jax.__file__).parents[1]


def _run(folder, program, path, **kwargs):
  """Runs a program of this folder with nothing but `path` to import from."""
  return subprocess.run(
      [sys.executable, *program, folder, str(_STEPS)],
      env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))},
      capture_output=True,
      text=True,
      **kwargs,
  )


class WholeProgramTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir())
    export_step.write(self.folder)
    params, x, labels = export_step.start()
    np.savez(self.folder / "start.npz", x=x, labels=labels, **params)
    self.expected = []
    for _ in range(_STEPS):
      params, loss = jax.jit(export_step.step)(params, x, labels)
      self.expected.append(float(loss))

  def test_the_program_holds_both_platforms(self):
    program = export.deserialize(
        bytearray((self.folder / "step.bin").read_bytes())
    )
    self.assertEqual(program.platforms, ("cpu", "cuda"))
    for target in ("rms_norm_fwd", "rms_norm_bwd", "softmax_fwd"):
      self.assertIn(f"@xla_ffi_ops_{target}(", program.mlir_module())

  def test_with_jax_alone(self):
    ours = subprocess.run(
        [sys.executable, "-c", "import jax, flatbuffers, jax_ffi_ops"],
        env=os.environ | {"PYTHONPATH": str(_PACKAGES)},
        capture_output=True,
        text=True,
    )
    self.assertIn("No module named 'jax_ffi_ops'", ours.stderr)
    done = _run(self.folder, [_HERE / "run_step.py"], [_PACKAGES], check=True)
    self.assertEqual([float(x) for x in done.stdout.split()], self.expected)
    self.assertLess(self.expected[-1], self.expected[0])

  def test_with_the_checked_loader(self):
    program = [_HERE / "run_step_checked.py"]
    done = _run(self.folder, program, sys.path, check=True)
    self.assertEqual([float(x) for x in done.stdout.split()], self.expected)

  def test_without_handlers(self):
    """jax loads the program, and XLA does not find what it calls."""
    (self.folder / "targets.json").write_text("{}")
    done = _run(self.folder, [_HERE / "run_step.py"], [_PACKAGES])
    self.assertNotEqual(done.returncode, 0)
    self.assertRegex(done.stderr, "No FFI handler registered for xla_ffi_ops_")

  def test_a_handler_that_the_library_lacks(self):
    libraries = {"librms_norm_ext.so": ["no_such_handler"]}
    (self.folder / "targets.json").write_text(json.dumps(libraries))
    done = _run(self.folder, [_HERE / "run_step_checked.py"], sys.path)
    self.assertIn("has no FFI handler 'no_such_handler'", done.stderr)


if __name__ == "__main__":
  absltest.main()
