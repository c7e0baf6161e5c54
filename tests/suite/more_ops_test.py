# SPDX-License-Identifier: Apache-2.0
"""The suite passes for ops with operands, results and attributes of all kinds."""

from absl.testing import absltest
import jax.numpy as jnp

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
import ops


class LogAddExpTest(testing.ConformanceTest):
  case = Case(ops.logaddexp, [Operand(), Operand()])


class LogAddExpFloat64Test(testing.ValuesTest, testing.DerivativesTest):
  case = Case(ops.logaddexp, [Operand(dtype="float64")] * 2)


class MatVecTest(testing.ConformanceTest):
  case = Case(ops.matvec, [Operand((4, 8)), Operand((8,))])


class MatMulTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(ops.matmul, [Operand((3, 4)), Operand((4, 5))])


class TakeTest(testing.ConformanceTest):
  case = Case(ops.take, [Operand((4,)), Operand((3,), "int32")])


class MaxTest(testing.ConformanceTest):
  case = Case(ops.max_and_index, [Operand((4,))])


class MaxBFloat16Test(testing.ValuesTest, testing.DerivativesTest):
  case = Case(ops.max_and_index, [Operand((4,), "bfloat16")])


class SortTest(testing.ConformanceTest):
  case = Case(ops.sort, [Operand((4,), "float64")], reference=jnp.sort)


class PolynomialTest(testing.ConformanceTest):
  case = Case(
      ops.polynomial,
      [Operand()],
      attributes=dict(
          coefficients=[1, -0.5, 0.25],
          form="bell",
          lowest=1,
          negated=True,
          scale=0.5,
      ),
  )


class AffineWithoutScaleTest(testing.ConformanceTest):
  case = Case(ops.affine, [Operand((4,)), None, Operand((4,))])


class AddSinByRuleTest(testing.ConformanceTest):
  case = Case(ops.add_sin_by_rule, [Operand(), Operand()])


class ProductSumTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(ops.product_sum, [Operand((4,))] * 3)


class AffineTest(testing.ConformanceTest):
  case = Case(ops.affine, [Operand((4,))] * 3)


class AddSinTest(testing.ConformanceTest):
  case = Case(ops.add_sin, [Operand(), Operand()])


class ChoosyTest(testing.ConformanceTest):
  case = Case(ops.choosy, [Operand((4,)), Operand((4,))])


class CumSumAlongOtherAxesTest(testing.ConformanceTest):
  case = Case(
      ops.cumsum, [Operand((4,))], attributes={"reverse": True}, trailing=1
  )


class TopKTest(testing.ConformanceTest):
  case = Case(ops.top_k, [Operand((4,))], attributes={"k": 3})


if __name__ == "__main__":
  absltest.main()
