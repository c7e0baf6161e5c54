# SPDX-License-Identifier: Apache-2.0
"""The machine code of an op's kernels is what they were planned to be.

64 registers let a multiprocessor run 1024 threads, and 128 let it run 512: the
threads of a block that scans. A loop of a scan has code for all dtypes and for
steps that overflow; it fits into 128 KiB, the second cache for instructions
since Volta (Jia et al., Dissecting the NVIDIA Volta GPU, 2018).
"""

import os
import re

from absl.testing import absltest
import sass

_LIBRARY = os.environ["LIBRARY"]
_ROW_KERNELS = ("LongRowKernel", "RowKernel")
_SCAN_KERNELS = (
    "ScanKernel",
    "TotalsKernel",
    "JoinPiecesKernel",
    "MendPiecesKernel",
)
# ScanArgs<RecurrenceScan<float> >, whether these are rows: some have vectors.
_SCAN_ROWS = re.compile(
    r"ScanArgs<.*(?:NumberScan<.*|(?:[fF]loat(?:16)?|double)> ?>),"
    r" (?:\(bool\))?(1|true)>"
)

# RowArgs<..., sums over rows>, elements per access, ...
_ROW_ARGUMENTS = re.compile(r", (?:\(int\))?(\d+)>, (?:\(int\))?(\d+)")


def _kernel(name):
  return re.search(r"(\w+)[<(]", name)[1]


def _plan(name, among_row_kernels):
  """Returns the plan for a kernel with a name."""
  if _kernel(name) in _SCAN_KERNELS:  # The innermost loop is the plain one.
    return sass.Plan(128, vector_loads=False, vector_stores=False, loop=8192)
  if _kernel(name) not in _ROW_KERNELS:
    registers = 64 if among_row_kernels else 255  # Nobody has planned others.
    return sass.Plan(registers, vector_loads=False, vector_stores=False)
  sums, size = map(int, _ROW_ARGUMENTS.search(name).groups())
  vectors = size > 1
  return sass.Plan(128 if sums else 64, vectors, vectors)


def _scans_by_vectors(name):
  """Returns whether a kernel scans rows of real numbers, some by vectors."""
  if _kernel(name) not in _SCAN_KERNELS or not _SCAN_ROWS.search(name):
    return False
  return "Complex" not in name and "Advantage" not in name


class RowKernelsSassTest(absltest.TestCase):

  def test_kernels_are_as_planned(self):
    kernels = sass.kernels(_LIBRARY)
    found = {(_kernel(name), architecture) for name, architecture, _ in kernels}
    kinds = {kind for kind, _ in found}
    has_rows = not kinds.isdisjoint(_ROW_KERNELS)
    if has_rows:
      kinds.update(_ROW_KERNELS)
    self.assertNotEmpty(kinds)
    self.assertContainsSubset(
        {(k, a) for k in kinds for a in sass.ARCHITECTURES}, found
    )
    vectors = 0
    for name, architecture, kernel in kernels:
      plan = _plan(name, has_rows)
      vectors += plan.vector_loads
      with self.subTest(name, architecture=architecture):
        self.assertEmpty(plan.violations(kernel))
        if _scans_by_vectors(name):
          loads = [load for _, load in kernel.named("LDG")]
          self.assertRegex(" ".join(loads), r"\.128\b")
    if has_rows:
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
