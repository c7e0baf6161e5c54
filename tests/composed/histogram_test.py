# SPDX-License-Identifier: Apache-2.0
"""histogram and histogram2d have the bits of those of jax.numpy."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import histogram
from jax_ffi_ops import histogram2d

# From here on, bins are computed.
_N = 2**15


# jax refuses masks (but in jnp.histogram 0.12), and without x64, it keeps 32
# bits of integers.
_MASKED = np.ma.array(np.arange(_N, dtype=np.float32), mask=np.arange(_N) > 9)
_LONG = np.resize(np.array([2**40 + 5, 1, 7, 2**31]), _N)


def _draw(dtype, n=_N, seed=0):
  x = np.random.default_rng(seed).normal(size=n) * 30
  return x.astype(dtype) if dtype != bool else x > 0


class HistogramTest(parameterized.TestCase):

  def _check(self, x, *args, jit=True, **kwargs):
    bind = lambda f: lambda x: f(x, *args, **kwargs)
    both = [bind(histogram), bind(jnp.histogram)]
    if jit:
      both = map(jax.jit, both)
    for y, expected in zip(*(f(x) for f in both)):
      self.assertEqual(y.dtype, expected.dtype)
      np.testing.assert_array_equal(y, expected)

  @parameterized.parameters("float32", "int8", "bool", "bfloat16", "float64")
  def test_dtypes(self, dtype):
    dtype = jnp.dtype(dtype)
    with jax.enable_x64(dtype.itemsize == 8):
      self._check(_draw(dtype))

  @parameterized.parameters(1, 30000)
  def test_numbers_of_bins(self, bins):
    self._check(_draw(np.float32), bins)

  def test_numbers_on_edges(self):
    # Multiples of 0.1, and their neighbors.
    x = np.resize(np.linspace(0, 1, 11, dtype=np.float32), _N)
    x = np.concatenate([x, np.nextafter(x, -1), np.nextafter(x, 2)])
    self._check(x, range=(0, 1), jit=False)

  @parameterized.parameters((1, 1 + 1e-6), (-1e38, 3e38), (5, 5))
  def test_edges_that_are_not_even(self, low, high):
    x = np.random.default_rng(0).uniform(low, high, _N).astype(np.float32)
    self._check(x, 40)

  def test_what_compares_strangely(self):
    x = _draw(np.float32)
    x[::5], x[1::5] = np.nan, np.inf
    x[2::5] = np.resize([-np.inf, 0.0, -0.0, 1e-40, -1e-40], x[2::5].shape)
    self._check(x)
    self._check(x, 7, (0, 10))
    self._check(x, 7, (-2.5, 0))

  @parameterized.parameters((2, 1), (1.0, -2.5), (3e38, -1e38))
  def test_falling_range(self, *ends):
    x = _draw(np.float32)
    self._check(x, 4, ends)
    self._check(x, 11, ends, _draw(np.float32, seed=1))

  @parameterized.parameters(False, True)
  def test_long_integers(self, x64):
    with jax.enable_x64(x64):
      self._check(_LONG, 5, jit=False)
      self._check(_draw(np.float32), 5, None, _LONG, jit=False)

  def test_weights_and_density(self):
    x, weights = _draw(np.float32), _draw(np.float32, seed=1)
    self._check(x.reshape(2, -1), 20, None, weights.reshape(2, -1), True)

  @parameterized.parameters(0, 1)
  def test_left_to_jax(self, n):
    x = _draw(np.float32, n)
    self._check(x, range=(0, 1))
    self._check(x, np.array([0.0, 1.0, 4.0]))

  def test_vmap_and_gradient(self):
    x, weights = _draw(np.float32, (2, _N)), _draw(np.float32, (2, _N), seed=1)
    results = []
    for f in (histogram, jnp.histogram):
      counts = lambda x, w, f=f: f(x, 9, (-20, 70), w)[0]
      loss = lambda x, w, counts=counts: (counts(x, w) ** 2).sum()
      edges = lambda x, f=f: (f(x, 9)[1] ** 2).sum()
      results.append(
          jax.jit(
              lambda x, w, counts=counts, loss=loss, edges=edges: (
                  jax.vmap(counts)(x, w),
                  jax.grad(loss, argnums=(0, 1))(x[0], w[0]),
                  jax.grad(edges)(x[0]),
              )
          )(x, weights)
      )
    jax.tree.map(np.testing.assert_array_equal, *results)

  @parameterized.parameters(
      (_draw(np.float32), "auto"),
      (_draw(np.float32), 10, (0, 1, 2)),
      (_draw(np.float32), 10, None, np.ones(3)),
      (_draw(np.float32), 1.5),
      ([1.0, 2.0],),
      (_draw(np.float32), 10, None, None, None, "a"),
  )
  def test_errors(self, *args):
    """Up to jax 0.11, jax.numpy has no out_sharding."""
    given = dict(zip(("a", "bins", "range", "weights", "density"), args))
    if len(args) > len(given):
      given["out_sharding"] = args[-1]
    wrong = (NotImplementedError, TypeError, ValueError)
    with self.assertRaises(wrong) as expected:
      jnp.histogram(**given)
    with self.assertRaises(type(expected.exception)) as found:
      histogram(*args)
    self.assertEqual(str(found.exception), str(expected.exception))

  @parameterized.parameters(
      (histogram, _MASKED),
      (histogram, _draw(np.float32), 10, None, _MASKED),
      (histogram2d, _MASKED, _draw(np.float32)),
      (histogram2d, _draw(np.float32), _MASKED),
      (histogram2d, _LONG, _LONG, 10, None, _MASKED),
  )
  def test_masks(self, function, *args):
    with self.assertRaisesRegex(ValueError, "masked arrays"):
      function(*args)


class Histogram2dTest(parameterized.TestCase):

  def _check(self, *args):
    x, y, *others = args
    both = (
        jax.jit(lambda x, y, f=f: f(x, y, *others))(x, y)
        for f in (histogram2d, jnp.histogram2d)
    )
    for y, expected in zip(*both):
      self.assertEqual(y.dtype, expected.dtype)
      np.testing.assert_array_equal(y, expected)

  @parameterized.parameters(
      ((7, 20),), (5, [(0, 1), None]),
      (5, None, "weights", True),
      (5, [(2, 1), (20, -30.5)]), (4, [(-9, 1), (2, 1)], "weights"),
      (np.array([0.0, 1.0, 3.0]),), ((4, np.array([0.0, 1.0])),),
  )  # fmt: skip
  def test_arguments(self, bins, ranges=None, weights=None, density=None):
    x, y = _draw(np.float32), _draw(np.int16, seed=1)
    x[:4] = np.nan, np.inf, -np.inf, -0.0
    if ranges is None:
      x = np.where(np.isfinite(x), x, 1)
    weights = weights and _draw(np.float32, seed=2)
    self._check(x, y, bins, ranges, weights, density)

  @parameterized.parameters(0, 1)
  def test_small(self, n):
    x = _draw(np.float32, n)
    self._check(x, x, 3, ((0, 1), (0, 1)))

  def test_without_jit(self):
    x, y = _draw(np.float32), _draw(np.float32, seed=1)
    results = [f(x, y) for f in (histogram2d, jnp.histogram2d)]
    jax.tree.map(np.testing.assert_array_equal, *results)

  @parameterized.parameters(False, True)
  def test_long_integers(self, x64):
    x = _draw(np.float32)
    with jax.enable_x64(x64):
      for args in ((_LONG, x), (x, _LONG), (x, x, 9, None, _LONG)):
        results = [f(*args) for f in (histogram2d, jnp.histogram2d)]
        jax.tree.map(np.testing.assert_array_equal, *results)

  @parameterized.parameters(
      (_draw(np.float32), _draw(np.float32, 5)),
      (_draw(np.float32), _draw(np.float32), [10]),
      (_draw(np.float32), _draw(np.float32), 10, [(0, 1)]),
      (_draw(np.float32), _draw(np.float32), 10, None, np.ones(3)),
  )
  def test_errors(self, *args):
    with self.assertRaises((TypeError, ValueError)) as expected:
      jnp.histogram2d(*args)
    with self.assertRaises(type(expected.exception)) as found:
      histogram2d(*args)
    self.assertEqual(str(found.exception), str(expected.exception))


if __name__ == "__main__":
  absltest.main()
