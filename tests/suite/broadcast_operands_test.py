# SPDX-License-Identifier: Apache-2.0
"""The suite passes for handlers that refuse operands of several shapes."""

from absl.testing import absltest

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
import ops


class ProductTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(ops.product, [Operand((4,)), Operand((4,))])


if __name__ == "__main__":
  absltest.main()
