# SPDX-License-Identifier: Apache-2.0
"""cumprod: its definition."""

import itertools

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import scans

from jax_ffi_ops import cumprod
from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing.exactness.rounding import gamma
from jax_ffi_ops.kit.testing.exactness.rounding import in_range


def _errors(x, y, dtype, axis, reverse):
  """Products are kept in float64, and rounded once to the dtype."""
  del x, reverse
  error = gamma(y.shape[axis], np.float64) + gamma(1, dtype)
  return error * np.abs(y) + np.finfo(np.float32).tiny


def _definition(x, *, reverse):
  if not isinstance(x, Bounded):
    return scans.accumulate(np.multiply, x, reverse=reverse)
  factors = np.moveaxis(x.value, -1, 0)[:: -1 if reverse else 1]
  product, products = np.ones(factors.shape[1:], factors.dtype), []
  with np.errstate(all="ignore"):
    for factor in factors:  # What leaves the range of float64 stays out.
      product = in_range(product * factor, np.float64)
      products.append(product)
    y = np.reshape(products[:: -1 if reverse else 1], factors.shape)
    y = np.moveaxis(y, 0, -1)
    return Bounded(y, x.dtype, _errors(x.value, y, x.dtype, -1, reverse))


def _near_one(rng, shape):
  return rng.choice([-1, 1], shape) * 2 ** rng.uniform(-0.5, 0.5, shape)


class CumProdTest(testing.OpTest):
  case = scans.case(cumprod, _definition, jax.lax.cumprod, values=_near_one)


class RunningProductsTest(scans.ScanTest):
  op = staticmethod(cumprod)
  ufunc = np.multiply
  errors = staticmethod(_errors)

  def values(self, rng, shape):
    return 2 ** rng.uniform(-0.01, 0.01, shape)

  def test_what_leaves_the_range_and_comes_back(self):
    """Among them zeros, before factors whose product overflows."""
    for dtype, large in ((np.float32, 1e30), (np.float64, 1e300)):
      x = np.array([0.5, *[large] * 9, *[1 / large] * 9] * 3, dtype)
      x[len(x) // 2] = 0
      with np.errstate(all="ignore"):
        want = np.multiply.accumulate(x.astype(np.float64)).astype(dtype)
      np.testing.assert_allclose(cumprod(x), want, 1e-6)

  def test_what_leaves_the_range_stays_out(self):
    """Though the product of all factors, or of a part, is in range."""
    for shape, power in itertools.product(((33_000,), (1100, 3)), (-300, 300)):
      x = np.ones(shape)
      x[100:103], x[103:106] = 10.0**power, 10.0**-power
      x[200:203], x[300:303] = 10.0**-power, 10.0**power
      with np.errstate(over="ignore", under="ignore"):
        want = np.multiply.accumulate(x)
      np.testing.assert_array_equal(want[300:], 0 if power < 0 else np.inf)
      for reverse in (False, True):
        own, wanted = (a[::-1] if reverse else a for a in (x, want))
        np.testing.assert_allclose(cumprod(own, 0, reverse), wanted, 1e-12)

  def test_zero_before_factors_whose_product_overflows(self):
    """Of any number of them: vectors multiply lanes before what precedes."""
    ways = list(itertools.product((0, 1), (False, True)))
    run = jax.jit(lambda xs: [cumprod(x, *way) for x, way in zip(xs, ways)])
    for dtype in kit.FLOATING:
      for n in (2, 9, 256, 40_000):
        xs = []
        for axis, reverse in ways:
          x = np.full((20, n), jnp.finfo(dtype).max, dtype)
          x[:, -1 if reverse else 0] = 0
          xs.append(np.moveaxis(x, 1, axis))
        for y in run(xs):
          np.testing.assert_array_equal(np.float64(y), 0)

  def test_gradient_with_zeros(self):
    x = np.array([2.0, 0.0, 3.0, 0.0, 4.0])
    g = np.arange(1.0, 6.0)
    want = np.zeros(5)
    for j in range(5):
      ones = x.copy()
      ones[j] = 1
      want[j] = np.sum(g[j:] * np.multiply.accumulate(ones)[j:])
    got = jax.grad(lambda x: jnp.dot(g, cumprod(x)))(x)
    np.testing.assert_allclose(got, want, 1e-12)


if __name__ == "__main__":
  absltest.main()
