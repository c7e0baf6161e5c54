# SPDX-License-Identifier: Apache-2.0
"""softmax: its definition, and what is special about it."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops import softmax
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _definition(x):
  e = np.exp(x - np.max(x, -1, keepdims=True, initial=-np.inf))
  return e / np.sum(e, -1, keepdims=True)


def _gradient(y, dy):
  return y * (dy - np.sum(y * dy, -1, keepdims=True))


class SoftmaxTest(testing.OpTest):
  case = Case(
      softmax, [Operand((16,))], definition=_definition, gradient=_gradient
  )


if __name__ == "__main__":
  absltest.main()
