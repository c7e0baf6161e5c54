# SPDX-License-Identifier: Apache-2.0
"""rms_norm under every transformation."""

from absl.testing import absltest

from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


class ScaledTest(testing.ConformanceTest):
  case = Case(rms_norm, [Operand((16,)), Operand((16,))])


class UnscaledTest(testing.ConformanceTest):
  case = Case(rms_norm, [Operand((16,))], attributes={"eps": 0.25})


class MixedDTypesTest(
    testing.ValuesTest, testing.DerivativesTest, testing.BatchingTest
):
  case = Case(rms_norm, [Operand((3,), "bfloat16"), Operand((3,), "float16")])


class Float64Test(testing.ValuesTest, testing.DerivativesTest):
  case = Case(rms_norm, [Operand((5,), "float64"), Operand((5,), "float64")])


if __name__ == "__main__":
  absltest.main()
