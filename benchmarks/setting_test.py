# SPDX-License-Identifier: Apache-2.0
"""A program sees the setting that it is started with."""

import json
import os
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized

import setting
from setting import Setting

_PROGRAM = """
import json, os
import jax, numpy
from jax_ffi_ops import kit
from numpy._core._multiarray_umath import __cpu_features__
jax.jit(lambda x: x + 1)(1)  # An unknown flag would end it.
print(json.dumps({
    "level": kit.cpu_level(),
    "cores": len(os.sched_getaffinity(0)),
    "numpy": __cpu_features__.get("X86_V4", False),
    "env": dict(os.environ),
}))
"""


def _started(wanted, **env):
  """Returns what a program sees."""
  command = [sys.executable, setting.__file__, *wanted.arguments()]
  command += [sys.executable, "-c", _PROGRAM]
  env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env}
  return json.loads(subprocess.check_output(command, env=env))


class SettingTest(parameterized.TestCase):

  def test_level_and_threads(self):
    seen = _started(Setting(3, 1), XLA_FLAGS="--xla_cpu_use_acl=false")
    self.assertLessEqual(seen["level"], 3)
    self.assertEqual(seen["cores"], 1)
    self.assertFalse(seen["numpy"])
    self.assertEqual(
        seen["env"]["XLA_FLAGS"],
        "--xla_cpu_use_acl=false --xla_cpu_max_isa=AVX2",
    )
    self.assertEqual(seen["env"]["ATEN_CPU_CAPABILITY"], "avx2")
    self.assertEqual(seen["env"]["OMP_NUM_THREADS"], "1")

  def test_heaps(self):
    clean = Setting(heap="clean").environment(
        {"A": "1", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    )
    self.assertNotIn("GLIBC_TUNABLES", clean)
    self.assertEqual(clean["MALLOC_ARENA_MAX"], "1")
    self.assertEqual(Setting(heap="default").environment(clean), {"A": "1"})

  def test_what_is_left_out_stays(self):
    self.assertEqual(Setting().environment({"A": "1"}), {"A": "1"})
    self.assertEqual(Setting().arguments(), [])
    wanted = Setting(4, 2, "clean")
    self.assertEqual(
        wanted.arguments(), ["--level=4", "--threads=2", "--heap=clean"]
    )

  def test_too_many_threads(self):
    command = [sys.executable, setting.__file__, "--threads=100000", "true"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    self.assertEqual(done.returncode, 1)
    self.assertIn("100000 threads, but", done.stderr)


if __name__ == "__main__":
  absltest.main()
