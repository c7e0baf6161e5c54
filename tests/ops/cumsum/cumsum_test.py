# SPDX-License-Identifier: Apache-2.0
"""cumsum: its definition."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import scans

from jax_ffi_ops import cumsum
from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing.exactness.rounding import gamma


def _errors(x, y, dtype, axis, reverse):
  """Sums are kept in float64, and rounded once to the dtype."""
  sizes = scans.accumulate(np.add, np.abs(x), axis, reverse=reverse)
  error = gamma(x.shape[axis] + 2, np.float64) * sizes
  return error + gamma(1, dtype) * np.abs(y) + np.finfo(np.float32).tiny


class CumSumTest(testing.OpTest):
  case = scans.case(cumsum, scans.definition(np.add, _errors), jax.lax.cumsum)


class RunningSumsTest(scans.SplitScanTest):
  op = staticmethod(cumsum)
  ufunc = np.add
  errors = staticmethod(_errors)

  def values(self, rng, shape):
    return rng.normal(size=shape)

  def start_type(self, dtype):
    return np.float64 if jnp.issubdtype(dtype, jnp.floating) else dtype

  def test_start_is_rounded_with_the_sum(self):
    scan_from = kit.ops_of(cumsum)[1]
    x = np.array([[-1e9, 1], [1, -1e9]], np.float32)
    for axis in (0, 1):
      y = scan_from(x, np.array([1e9 + 0.5, 2]), axis=axis, reverse=False)
      wanted = x.cumsum(axis, np.float64) + np.expand_dims([1e9 + 0.5, 2], axis)
      np.testing.assert_array_equal(y, wanted.astype(np.float32))

  def test_totals(self):
    self._check_totals(self.calls)

  def test_totals_of_tiles(self):
    self._check_totals(self.tiles)

  def _check_totals(self, calls_of):
    total = kit.ops_of(cumsum)[2]
    for dtype in kit.NUMBERS:
      calls = [(x, axis) for x, axis, _ in calls_of(dtype)]
      # One program: to compile one for each call takes most of the time.
      results = jax.jit(lambda cs=calls: [total(x, axis=a) for x, a in cs])
      for (x, axis), y in zip(calls, results(), strict=True):
        self.assertEqual(y.dtype, self.start_type(x.dtype))
        if jnp.issubdtype(dtype, jnp.integer):
          np.testing.assert_array_equal(y, np.sum(x, axis, dtype))
          continue
        wide = x.astype(np.longdouble)
        allowed = gamma(x.shape[axis], np.float64) * np.sum(abs(wide), axis)
        distance = abs(np.asarray(y) - np.sum(wide, axis))
        np.testing.assert_array_equal(distance <= allowed, True)

  def test_many_equal_terms(self):
    """In float32, sums of these would be off by thousands of units."""
    n = 1 << 21
    y = np.asarray(cumsum(np.full(n, 0.1, np.float32)))
    exact = np.arange(1, n + 1) * np.float64(np.float32(0.1))
    self.assertLess(np.max(abs(y / exact - 1)), 2**-23)

  def test_what_leaves_the_range_stays_out(self):
    """The sum of all of the large terms is 0."""
    x = np.zeros(33_000)
    x[[200, 300]], x[[330, 400]] = 1e308, -1e308
    want = np.where(np.arange(x.size) < 200, 0, 1e308)
    want[300:] = np.inf
    np.testing.assert_array_equal(cumsum(x), want)
    np.testing.assert_array_equal(cumsum(x[::-1], 0, True), want[::-1])

  def test_negative_zero(self):
    for dtype in (np.float32, np.float64):
      y = cumsum(np.array([-0.0, -0.0, 0.0], dtype))
      np.testing.assert_array_equal(np.signbit(y), [True, True, False])


if __name__ == "__main__":
  absltest.main()
