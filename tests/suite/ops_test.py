# SPDX-License-Identifier: Apache-2.0
"""The suite passes for ops with optional operands, axes, dimensions and rules."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
import ops


def _edges(rng, shape):
  return np.sort(rng.normal(size=shape)) + [-1, 1]


class AffineTest(testing.ConformanceTest):
  case = Case(ops.affine, [Operand((4,))] * 3)


class CumSumTest(testing.ConformanceTest):
  case = Case(ops.cumsum, [Operand((4,))], attributes={"reverse": False})


class CumSumAlongOtherAxesTest(testing.ConformanceTest):
  case = Case(
      ops.cumsum, [Operand((4,))], attributes={"reverse": True}, trailing=1
  )


class HistogramTest(testing.ConformanceTest):
  case = Case(
      ops.histogram,
      [Operand((4,)), Operand((2,), values=_edges)],
      attributes={"bins": 5},
  )


class TopKTest(testing.ConformanceTest):
  case = Case(ops.top_k, [Operand((4,))], attributes={"k": 3})


class AddSinTest(testing.ConformanceTest):
  case = Case(ops.add_sin, [Operand(), Operand()])


class ChoosyTest(testing.ConformanceTest):
  case = Case(ops.choosy, [Operand((4,)), Operand((4,))])


if __name__ == "__main__":
  absltest.main()
