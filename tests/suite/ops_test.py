# SPDX-License-Identifier: Apache-2.0
"""The suite passes for an op with an axis, and one with a new dimension."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.exactness.rounding import gamma
import ops


def _edges(rng, shape):
  return np.sort(rng.normal(size=shape)) + [-1, 1]


def _cumsum(x, *, reverse):
  order = slice(None, None, -1 if reverse else 1)
  total = lambda terms: np.cumsum(terms[..., order], -1)[..., order]
  with np.errstate(invalid="ignore"):
    size = total(np.abs(x.value) + x.error)
    error = total(x.error) + gamma(x.shape[-1], x.dtype) * size
    # A copy keeps a subnormal number, of which an addition makes zero.
    error += np.finfo(x.dtype).smallest_normal
    return Bounded(total(x.value), x.dtype, error)


# The handler called directly, too: what is before and behind the core.
class CumSumTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(
      ops.cumsum,
      [Operand((4,))],
      attributes={"reverse": False},
      definition=_cumsum,
  )

  def test_what_a_definition_cannot_use(self):
    x = Bounded([1.0, 2.0], np.float32)
    with self.assertRaisesRegex(TypeError, "cannot use numpy.cumsum"):
      np.cumsum(x)
    with self.assertRaisesRegex(TypeError, "cannot use numpy.sin"):
      np.sin(x)
    with self.assertRaisesRegex(TypeError, "where"):
      np.sum(x, -1, where=[True, False])

  def test_smaller_number(self):
    x = np.minimum(Bounded([1.0, 2.0], np.float32, [0.1, 0.2]), 1.5)
    np.testing.assert_array_equal(x.value, [1.0, 1.5])
    np.testing.assert_array_equal(x.error, [0.1, 0.2])


class HistogramTest(testing.ConformanceTest):
  case = Case(
      ops.histogram,
      [Operand((4,)), Operand((2,), values=_edges)],
      attributes={"bins": 5},
  )


if __name__ == "__main__":
  absltest.main()
