# SPDX-License-Identifier: Apache-2.0
"""A Python with the kit alone, without the ops of xla_ffi_ops."""

import subprocess
import sys

from absl.testing import absltest

_PROGRAM = """
import importlib.util, jax, numpy
from jax_ffi_ops import kit
print(kit.explain(jax.numpy.sin, numpy.ones(2)))
print(importlib.util.find_spec("jax_ffi_ops.ops"))
"""


class KitPythonTest(absltest.TestCase):

  def test_rms_norm_and_others_are_not_built(self):
    done = subprocess.run(
        [_PYTHON, "-c", _PROGRAM], capture_output=True, text=True, check=False
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    explained, ops = done.stdout.splitlines()
    self.assertStartsWith(explained, "sin: no op is called")
    self.assertEqual(ops, "None")


if __name__ == "__main__":
  _PYTHON = sys.argv.pop(1)
  absltest.main()
