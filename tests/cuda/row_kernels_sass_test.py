# SPDX-License-Identifier: Apache-2.0
"""The machine code of an op's kernels is what they were planned to be.

64 registers let a multiprocessor run 1024 threads, and 128 let it run 512.
"""

import os
import re

from absl.testing import absltest
import sass

_LIBRARY = os.environ["LIBRARY"]
_ROW_KERNELS = ("LongRowKernel", "RowKernel")

# RowArgs<..., sums over rows>, elements per access, ...
_ROW_ARGUMENTS = re.compile(r", (?:\(int\))?(\d+)>, (?:\(int\))?(\d+)")


def _kernel(name):
  return re.search(r"::(\w+Kernel)<", name)[1]


def _plan(name):
  """Returns the plan for a kernel with a name."""
  if _kernel(name) not in _ROW_KERNELS:
    return sass.Plan(64, vector_loads=False, vector_stores=False)
  sums, size = map(int, _ROW_ARGUMENTS.search(name).groups())
  vectors = size > 1
  return sass.Plan(128 if sums else 64, vectors, vectors)


class RowKernelsSassTest(absltest.TestCase):

  def test_kernels_are_as_planned(self):
    kernels = sass.kernels(_LIBRARY)
    found = set()
    vectors = 0
    for name, architecture, kernel in kernels:
      plan = _plan(name)
      found.add((_kernel(name), architecture))
      vectors += plan.vector_loads
      with self.subTest(name, architecture=architecture):
        self.assertEmpty(plan.violations(kernel))
    self.assertContainsSubset(
        {(k, a) for k in _ROW_KERNELS for a in sass.ARCHITECTURES}, found
    )
    self.assertGreater(vectors, len(kernels) / 4)
    self.assertLessEqual(len(kernels), 110 * len(sass.ARCHITECTURES))

  def test_size(self):
    self.assertLessEqual(os.path.getsize(_LIBRARY), 7e6)

  def test_architectures(self):
    self.assertCountEqual(
        os.environ["ARCHITECTURES"].split(), sass.architectures(_LIBRARY)
    )


if __name__ == "__main__":
  absltest.main()
