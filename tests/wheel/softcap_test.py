# SPDX-License-Identifier: Apache-2.0
"""The suite, for an op that neither Bazel nor our macros have seen."""

from absl.testing import absltest
import numpy as np
from softcap import softcap

from jax_ffi_ops.kit import testing


class SoftcapTest(testing.OpTest):
  checks_messages = False
  case = testing.Case(
      softcap,
      [testing.Operand()],
      attributes={"cap": 2.0},
      definition=lambda x, *, cap: np.tanh(x / cap) * cap,
  )


if __name__ == "__main__":
  absltest.main()
