# SPDX-License-Identifier: Apache-2.0
"""The op under every transformation."""

from absl.testing import absltest
import steps

from jax_ffi_ops.kit import testing


class Step5Test(testing.ConformanceTest):
  case = testing.Case(steps.step5, [testing.Operand(), testing.Operand()])


if __name__ == "__main__":
  absltest.main()
