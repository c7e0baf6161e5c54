# SPDX-License-Identifier: Apache-2.0
"""Rows of every width: on both sides of where a kernel gives way to another."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import at_most
from gpu_test_case import Call
from gpu_test_case import for_each_op
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
from gpu_test_case import kinds
import numpy as np

from jax_ffi_ops.kit.testing.direct import right_calls
from jax_ffi_ops.kit.testing.direct.contract import targets
from jax_ffi_ops.kit.testing.direct.expected import Definition

_COLS = sorted(
    {max(1, 2**power + i) for power in range(19) for i in (-1, 0, 1)}
    | {3 * 2**power for power in range(17)}
    # What vectors of 16 bytes take, and one element more or less.
    | {1000, 2000, 5120, 8200, 12296, 20480, 50_000, 200_008, 300_000}
)[: None if has_gpu() else 40]
_LONG = ((100_003, 1), (70_001, 8)) if has_gpu() else ((2003, 1),)
_ELEMENTS = 2**14 if has_gpu() else 2**12


def _not_finite(rng, shape):
  """Returns rows of which some have a NaN or inf, one of them all zeros."""
  x = rng.normal(size=shape)
  if len(shape) > 1:
    x[1, 0] = x[3, -1] = x[5, shape[-1] // 2] = np.nan
    x[2, -1] = x[5, 0] = np.inf
    x[6, shape[-1] // 3] = -np.inf
    x[7] = 0
  return x


class ColumnsTest(GpuTestCase):

  @parameterized.parameters(at_most(_COLS, 5))
  def test_columns(self, cols):
    self.check_rows(min(150, max(2, _ELEMENTS // cols)), cols)

  @parameterized.parameters(*_LONG)
  def test_many_rows(self, rows, cols):
    self.check_rows(rows, cols)

  @parameterized.parameters(at_most((33, 4096, 16_385, 65_536), 1))
  def test_groups_of_rows(self, cols):
    """As vmap has them: weights and their gradients are those of a group."""
    for case in kinds(self.case, cols):
      for target in targets(case):
        _, frame, arrays = right_calls.plain(target, Definition(case))
        self.check(case, Call(target, frame, arrays, frame.run(arrays)))

  @parameterized.parameters(at_most((33, 4, 1024, 4097, 65_536), 1))
  def test_rows_that_are_not_finite(self, cols):
    """They change no other row, wherever in the row the number is."""
    self.check_rows(9, cols, _not_finite)

  def check_rows(self, rows, cols, values=None):
    for case in kinds(self.case, cols):
      first, *others = case.slots
      first = dataclasses.replace(first, values=values)
      case = dataclasses.replace(case, slots=[first, *others])
      for call in self.calls(case, rows):
        # Of an infinite row a residual may be inf or NaN, whoever reads it.
        end = len(case.op.outputs) if values else None
        self.check(case, call._replace(results=call.results[:end]))


for_each_op(ColumnsTest)
del ColumnsTest

if __name__ == "__main__":
  absltest.main()
