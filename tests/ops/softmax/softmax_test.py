# SPDX-License-Identifier: Apache-2.0
"""softmax: its definition, and what is special about it."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops import softmax
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _definition(x):
  e = np.exp(x - np.max(x, -1, keepdims=True, initial=-np.inf))
  if isinstance(x, Bounded) and x.storage.itemsize == 2:
    # exp.h: what is rounded to 16 bits need not be exact to float32.
    e = Bounded(e.value, e.dtype, e.error + e.value * 2.0**-17)
  return e / np.sum(e, -1, keepdims=True)


def _gradient(y, dy):
  return y * (dy - np.sum(y * dy, -1, keepdims=True))


class SoftmaxTest(testing.OpTest):
  case = Case(
      softmax, [Operand((16,))], definition=_definition, gradient=_gradient
  )

  def test_rows_too_long_to_keep(self):
    """Of more than 65536 columns, the CPU computes each exponential twice."""
    x = np.random.default_rng(0).normal(size=(3, 70_000)).astype(np.float32)
    # x - max is at most 10: as many half units in the last place of exp; more
    # are those of exp, the sum and the quotient.
    np.testing.assert_allclose(
        softmax(x), _definition(x.astype(np.float64)), rtol=32 * 2**-24
    )


if __name__ == "__main__":
  absltest.main()
