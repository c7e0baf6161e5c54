# SPDX-License-Identifier: Apache-2.0
"""cummin: its definition."""

import functools

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import cummin
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
import scans


def _definition(x, *, reverse):
  if not isinstance(x, Bounded):
    return scans.accumulate(np.minimum, x, reverse=reverse)
  y = scans.accumulate(np.minimum, x.value, reverse=reverse)
  # A subnormal number is kept, where arithmetic takes it for zero.
  error = np.where(y == 0, jnp.finfo(x.storage).smallest_normal, 0)
  return Bounded(y, x.dtype, error)


class CumMinTest(testing.OpTest):
  case = Case(
      cummin,
      [Operand((16,))],
      attributes={"reverse": True},
      reference=functools.partial(scans.first(jnp.argmin), reverse=True),
      definition=_definition,
      namesake=scans.at_axis(jax.lax.cummin),
      trailing=1,
  )


class RunningMinimaTest(scans.ScanTest):
  op = staticmethod(cummin)
  ufunc = np.minimum

  def values(self, rng, shape):
    return rng.normal(size=shape) * 100

  def check_near(self, x, y, axis, reverse, message):
    want = scans.accumulate(
        np.minimum, x.astype(np.float64), axis, reverse=reverse
    )
    np.testing.assert_array_equal(y.astype(np.float64), want, message)

  def test_infinities(self):
    x = np.array([-np.inf, np.inf, 1, -np.inf, np.inf], np.float32)
    want = np.minimum.accumulate(x)
    np.testing.assert_array_equal(cummin(x), want)

  def test_the_first_of_equal_elements_has_the_gradient(self):
    x = np.array([1.0, 3, 3, 2, 3, 4, 4]) * -1
    g = 2.0 ** np.arange(7)
    grad = jax.grad(lambda x, reverse: jax.numpy.dot(g, cummin(x, 0, reverse)))
    np.testing.assert_array_equal(grad(x, False), [1, 30, 0, 0, 0, 96, 0])
    np.testing.assert_array_equal(grad(x, True), [0, 0, 0, 0, 0, 0, 127])


if __name__ == "__main__":
  absltest.main()
