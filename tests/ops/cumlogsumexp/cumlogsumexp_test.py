# SPDX-License-Identifier: Apache-2.0
"""cumlogsumexp: its definition."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import scans

from jax_ffi_ops import cumlogsumexp
from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing.exactness.rounding import gamma


def _errors(x, y, dtype, axis, reverse, is_total=False):
  """The error of y = r + log(s), as log_sum_exp.h computes it.

  r, the reference, is at most 1 from the largest element so far, or 2 where
  blocks were joined. Let n be the number of elements. The relative error of s
  is that of

  * exp, 4 roundings, and of x - r, which the mean of |x - r| with the terms of
    s as its weights multiplies: that is at most 2 + log(n);
  * what multiplies earlier terms if r is raised. Each time, they become at
    least e times smaller, so 1 / (e - 1) of the above;
  * one rounding to the dtype;
  * in a total, also of a block of 16 Ki elements: 3 roundings, where four of
    them are added in the dtype; and exp once more where strands of elements are
    joined, and where blocks are.

  log(s) is at most 2 + log(n), and has 4 roundings more. Sums are kept in
  float64.
  """
  del reverse
  wide = kit.accumulator(dtype)
  n = x.shape[axis]
  largest = 2 + np.log(max(n, 1))
  has_totals = is_total or n > 2**14
  exps = (4 + largest) * (1.6 + 2 * has_totals)
  error = gamma(exps + 1 + 3 * has_totals + 4 * largest, wide)
  error = error + n * np.finfo(np.float64).eps
  size = np.where(np.isfinite(y), np.abs(y), 0)
  error = error + gamma(1, wide) * size
  rounded = gamma(1, dtype) if dtype != wide else 0
  error = error + rounded * (size + error) + np.finfo(wide).tiny
  return error


class CumLogSumExpTest(testing.OpTest):
  case = scans.case(
      cumlogsumexp,
      scans.definition(np.logaddexp, _errors),
      jax.lax.cumlogsumexp,
  )


class RunningLogSumExpTest(scans.SplitScanTest):
  op = staticmethod(cumlogsumexp)
  ufunc = np.logaddexp
  dtypes = kit.FLOATING
  errors = staticmethod(_errors)

  def values(self, rng, shape):
    return rng.normal(size=shape) * 3

  def start_type(self, dtype):
    return kit.accumulator(dtype)

  def _check(self, x, axes=(0, 1)):
    for axis in axes:
      for reverse in (False, True):
        y = np.asarray(cumlogsumexp(x, axis, reverse)).astype(np.longdouble)
        wide = x.astype(np.longdouble)
        with np.errstate(invalid="ignore"):
          want = scans.accumulate(np.logaddexp, wide, axis, reverse=reverse)
        errors = _errors(wide, want, jnp.dtype(x.dtype), axis, reverse)
        finite = np.isfinite(want)
        np.testing.assert_array_equal(y[~finite], want[~finite])
        excess = abs(y[finite] - want[finite]) - errors[finite]
        self.assertLess(np.max(excess), 0, f"{x.dtype}, {axis}, {reverse}")

  def test_steps_of_every_size(self):
    """The reference changes never, now and then, and at each element."""
    step = np.arange(1500)[:, None] * [1e-4, 0.1, 0.9, 1.0, 1.1, 3.0, 50.0, 1e9]
    walk = np.cumsum(np.random.default_rng(0).normal(size=step.shape), 0)
    for dtype in (np.float32, np.float64):
      for x in (step, -step, walk, walk - 1e6):
        self._check(x.astype(dtype))

  def test_infinities(self):
    rng = np.random.default_rng(1)
    for dtype in kit.FLOATING:
      x = rng.normal(size=(300, 40)).astype(dtype)
      x[rng.random(x.shape) < 0.5] = -np.inf
      x[:, :9] = x[:70, 9:] = -np.inf
      x[:, -1] = -np.inf
      self._check(x)
      x[[100, 100, 200], [5, 20, 20]] = np.inf
      self._check(x)

  def test_blocks_of_infinities(self):
    """Also blocks of 16 Ki elements whose sum is 0 are joined."""
    for dtype in kit.FLOATING:
      for n in (40_000, 70_000):
        x = self.array(dtype, (4, n))
        x[0, :20_000] = x[1, 20_000:] = x[2] = -np.inf
        self._check(x, axes=(1,))
        self._check_each_total([(x, 1)])

  def test_the_first_element_is_kept(self):
    """It is nearly 0, and what follows is much larger."""
    x = np.array([[1e-6, 50, 100]], np.float32)
    np.testing.assert_array_equal(cumlogsumexp(x, 1)[:, 0], x[:, 0])

  def test_totals(self):
    self._check_totals(self.calls)

  def test_totals_of_tiles(self):
    self._check_totals(self.tiles)

  def _check_totals(self, calls_of):
    for dtype in kit.FLOATING:
      calls = []
      for x, axis, _ in calls_of(dtype):
        calls.append((x, axis))
        for number in (-np.inf, np.inf) if x.size else ():
          x = x.copy()
          x.flat[-1] = number
          calls.append((x, axis))
      self._check_each_total(calls)

  def _check_each_total(self, calls):
    total = kit.ops_of(cumlogsumexp)[2]
    # One program: to compile one for each call takes most of the time.
    results = jax.jit(lambda: [total(x, axis=axis) for x, axis in calls])()
    for (x, axis), y in zip(calls, map(np.asarray, results), strict=True):
      wide = kit.accumulator(x.dtype)
      self.assertEqual(y.dtype, wide)
      exact = x.astype(np.longdouble)
      with np.errstate(invalid="ignore"):
        want = np.logaddexp.reduce(exact, axis)
      errors = _errors(exact, want, jnp.dtype(wide), axis, False, True)
      finite = np.isfinite(want)
      np.testing.assert_array_equal(y[~finite], want[~finite])
      distance = abs(y[finite] - want[finite])
      np.testing.assert_array_equal(distance <= errors[finite], True)

  def test_gradient_at_infinities(self):
    x = jnp.array([-np.inf, -np.inf, 0.0, -np.inf, np.log(3.0)])
    g = jnp.array([1.0, 2, 4, 8, 16])
    grad = jax.grad(lambda x: jnp.dot(g, jnp.nan_to_num(cumlogsumexp(x))))
    np.testing.assert_allclose(jax.jit(grad)(x), [0, 0, 16, 0, 12], 1e-12)
    hessian = jax.jit(jax.hessian(lambda x: cumlogsumexp(x)[-1]))(x)
    want = np.zeros((5, 5))
    want[np.ix_([2, 4], [2, 4])] = [[3 / 16, -3 / 16], [-3 / 16, 3 / 16]]
    np.testing.assert_allclose(hessian, want, atol=1e-12)

  def test_gradient_of_large_elements(self):
    x = np.linspace(-1e4, 1e4, 9)
    grad = jax.grad(lambda x: jnp.sum(cumlogsumexp(x)))(x)
    np.testing.assert_allclose(grad, np.ones(9), 1e-12)


if __name__ == "__main__":
  absltest.main()
