# SPDX-License-Identifier: Apache-2.0
"""rms_norm under every transformation."""

from absl.testing import absltest

from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit import testing


class ScaledTest(testing.ConformanceTest):
  case = testing.Case(
      rms_norm, [testing.Operand((16,)), testing.Operand((16,))]
  )


class UnscaledTest(testing.ConformanceTest):
  case = testing.Case(
      rms_norm, [testing.Operand((16,))], attributes={"eps": 0.25}
  )


if __name__ == "__main__":
  absltest.main()
