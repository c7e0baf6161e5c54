# SPDX-License-Identifier: Apache-2.0
"""The machine code of rms_norm's kernels is what they were planned to be.

64 registers let a multiprocessor run 1024 threads, and 128 let it run 512.
"""

import os
import re

from absl.testing import absltest
import sass

# Kernels with template arguments <dtype, scale, elements per access, ...>.
_ONE_ELEMENT = r"<\S+ .*?, 1, "
_PLANS = {
    "RmsNormForwardKernel": 64,
    "RmsNormForwardWideKernel": 64,
    "RmsNormBackwardKernel": 128,
    "RmsNormBackwardWideKernel": 128,
    "SumPartsKernel": 64,
}


def _plan(name):
  """Returns the plan for a kernel with a name."""
  kernel, arguments = re.search(r"::(\w+Kernel)<(.*)>\(", name).groups()
  registers = _PLANS[kernel]
  if kernel.startswith("RmsNormBackward") and "Ones" in arguments:
    registers = 64
  # (int)8 is the number of elements of an access.
  sizes = re.findall(r"\(int\)(\d+)|, (\d+)", arguments)
  wide = bool(sizes) and int(sizes[0][0] or sizes[0][1]) > 1
  return sass.Plan(registers, wide_loads=wide, wide_stores=wide)


class RmsNormSassTest(absltest.TestCase):

  def test_kernels_are_as_planned(self):
    kernels = sass.kernels(os.environ["RMS_NORM"])
    found = set()
    wide = 0
    for name, architecture, kernel in kernels:
      plan = _plan(name)
      found.add((re.search(r"::(\w+Kernel)<", name)[1], architecture))
      wide += plan.wide_loads
      with self.subTest(name, architecture=architecture):
        self.assertEmpty(plan.violations(kernel))
    self.assertCountEqual(
        found, [(k, a) for k in _PLANS for a in sass.ARCHITECTURES]
    )
    self.assertGreater(wide, len(kernels) / 4)

  def test_architectures(self):
    self.assertCountEqual(
        os.environ["ARCHITECTURES"].split(),
        sass.architectures(os.environ["RMS_NORM"]),
    )


if __name__ == "__main__":
  absltest.main()
