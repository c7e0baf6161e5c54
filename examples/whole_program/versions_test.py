# SPDX-License-Identifier: Apache-2.0
"""A program is for a jax no older than the one that exported it."""

import os
import pathlib
import subprocess
import sys

from absl.testing import absltest
import jax

_HERE = pathlib.Path(__file__).parent
_THIS = pathlib.Path(jax.__file__).parents[1]
_RUNFILES = pathlib.Path(os.environ["TEST_SRCDIR"])
_OLDEST = _RUNFILES / "xla_ffi_ops_oldest/site-packages"
_EXPORT = """
import pathlib, sys
import export_step, numpy
folder = pathlib.Path(sys.argv[1])
export_step.write(folder)
params, x, labels = export_step.start()
numpy.savez(folder / "start.npz", x=x, labels=labels, **params)
"""


def _python(packages, *args, **kwargs):
  """Runs Python with the packages of one jax, and ours."""
  ours = [path for path in sys.path if "site-packages" not in path]
  path = os.pathsep.join([str(packages), *ours])
  return subprocess.run(
      [sys.executable, *map(str, args)],
      env=os.environ | {"PYTHONPATH": path},
      capture_output=True,
      text=True,
      **kwargs,
  )


class VersionsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def _losses(self, packages):
    program = _HERE / "run_step.py"
    done = _python(packages, program, self.folder, 2, check=True)
    return [float(x) for x in done.stdout.split()]

  def test_an_older_program_in_a_newer_jax(self):
    _python(_OLDEST, "-c", _EXPORT, self.folder, check=True)
    old, new = self._losses(_OLDEST), self._losses(_THIS)
    self.assertLen(new, 2)
    for x, y in zip(old, new):  # Their products may differ in the last bits.
      self.assertAlmostEqual(x, y, delta=1e-5)

  def test_a_newer_program_in_an_older_jax(self):
    """It may work or not: the format of StableHLO grows with its versions."""
    _python(_THIS, "-c", _EXPORT, self.folder, check=True)
    if jax.__version_info__ < (0, 12):
      self.assertLen(self._losses(_OLDEST), 2)
      return
    done = _python(_OLDEST, _HERE / "run_step.py", self.folder, 2)
    self.assertNotEqual(done.returncode, 0)
    self.assertIn("Failed to deserialize StableHLO", done.stderr)


if __name__ == "__main__":
  absltest.main()
