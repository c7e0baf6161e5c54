# SPDX-License-Identifier: Apache-2.0
"""The suite, for a foreign op of rows and of two dtypes."""

from absl.testing import absltest
import numpy as np
from tally import tally

from jax_ffi_ops.kit import testing


class TallyTest(testing.OpTest):
  checks_messages = False
  case = testing.Case(
      tally,
      [testing.Operand((16,)), testing.Operand((16,), np.int32)],
      definition=lambda x, counts: (x * counts).sum(-1, additions=x.shape[-1]),
  )


if __name__ == "__main__":
  absltest.main()
