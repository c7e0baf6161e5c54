# SPDX-License-Identifier: Apache-2.0
"""One source, built by CMake and by Bazel."""

import os
import pathlib
import subprocess
import sys

from absl.testing import absltest
from half import half
import jax
import numpy as np

_HERE = pathlib.Path(__file__).parent
_CMAKE, _NINJA = (os.path.abspath(os.environ[x]) for x in ("CMAKE", "NINJA"))


class CmakeTest(absltest.TestCase):

  def _cmake(self, *args):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [_CMAKE, *args],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    self.assertEqual(done.returncode, 0, done.stdout)

  def test_both_builds(self):
    folder = pathlib.Path(self.create_tempdir())
    self._cmake(
        "-S", _HERE, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_MAKE_PROGRAM={_NINJA}",
        f"-DPython3_EXECUTABLE={sys.executable}",
    )  # fmt: skip
    self._cmake("--build", folder)
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    for path in (folder / "libhalf.so", _HERE / "libhalf_ext.so"):
      function = half(path)
      np.testing.assert_array_equal(jax.jit(function)(x), x / 2)
      with self.assertRaisesRegex(
          jax.errors.JaxRuntimeError, "expected F32 but got S32"
      ):
        jax.block_until_ready(function(np.zeros(3, np.int32)))
      other = jax.ffi.ffi_call(
          f"example_half {path}", jax.ShapeDtypeStruct((4,), np.float32)
      )
      with self.assertRaisesRegex(
          jax.errors.JaxRuntimeError, "y must have as many elements as x"
      ):
        jax.block_until_ready(other(np.zeros(3, np.float32)))


if __name__ == "__main__":
  absltest.main()
