# SPDX-License-Identifier: Apache-2.0
"""The suite, for a foreign op of two results and a state."""

from absl.testing import absltest
import numpy as np
from squash import squash

from jax_ffi_ops.kit import testing


def _definition(x, *, sharpness):
  r = 1 / (1 + np.float32(sharpness * sharpness) * np.abs(x))
  return x * r, r * r


def _case(sharpness):
  return testing.Case(
      squash,
      [testing.Operand()],
      attributes={"sharpness": sharpness},
      definition=_definition,
  )


class SquashHandlerTest(testing.HandlerTest):
  """The first in the process: no program has registered the state before."""

  checks_messages = False
  case = _case(0.5)


class SquashTest(testing.OpTest):
  checks_messages = False
  case = _case(1.5)


if __name__ == "__main__":
  absltest.main()
