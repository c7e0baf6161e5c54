# SPDX-License-Identifier: Apache-2.0
"""Gamma-distributed numbers have the bits of jax.random, and its gradients."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
import scipy.stats

from jax_ffi_ops import kit
from jax_ffi_ops import random
from jax_ffi_ops.random import gammas

_FUNCTIONS = ("gamma", "loggamma")


def _alphas(n):
  """From 1e-4 to 1e4, and what is no shape parameter."""
  special = [0, 1, 1e-30, 1e-38, 1e30, 3e38, -1, -0.5, np.nan, np.inf, -np.inf]
  rng = np.random.default_rng(n)
  alpha = np.exp(rng.uniform(np.log(1e-4), np.log(1e4), n))
  alpha[: len(special)] = special
  return alpha.astype(np.float32)


class GammaTest(parameterized.TestCase):

  @parameterized.parameters(
      ("gamma", True, "typed"), ("loggamma", False, "words")
  )
  def test_bits(self, name, partitionable, key):
    with jax.threefry_partitionable(partitionable):
      of = jax.random.key if key == "typed" else jax.random.PRNGKey
      ours, theirs = getattr(random, name), getattr(jax.random, name)
      alpha = _alphas(3 * 1366).reshape(-1, 3, 1366)[:, :2]
      found = ours(of(3), alpha)
      np.testing.assert_array_equal(found, theirs(of(3), alpha))
      self.assertEqual(found.dtype, np.float32)

  @parameterized.parameters(("gamma", False), ("loggamma", True))
  def test_bits_of_double(self, name, partitionable):
    with jax.enable_x64(True), jax.threefry_partitionable(partitionable):
      ours, theirs = getattr(random, name), getattr(jax.random, name)
      alpha = _alphas(2**12).astype(np.float64)
      found = ours(jax.random.key(10), alpha)
      np.testing.assert_array_equal(found, theirs(jax.random.key(10), alpha))
      self.assertEqual(found.dtype, np.float64)

  def test_handler_runs(self):
    text = kit.explain(random.gamma, jax.random.key(0), jnp.ones(100))
    self.assertRegex(text, "random_gamma.*cpu.*handler")

  def test_vmap(self):
    """Over keys and parameters: each key has its own array."""
    several = jax.random.split(jax.random.key(4), 5)
    alpha = _alphas(5 * 24).reshape(5, 24)
    found, expected = (
        jax.vmap(f)(several, alpha) for f in (random.gamma, jax.random.gamma)
    )
    np.testing.assert_array_equal(found, expected)

  @parameterized.parameters(np.float32, np.float64)
  def test_gradient_of_numbers(self, dtype):
    """-(dP/da) / (dP/dx), by a difference of fourth order."""
    with jax.enable_x64(True):
      rng = np.random.default_rng(12)
      alpha = np.exp(rng.uniform(np.log(0.05), np.log(1e4), 1000))
      sample = rng.gamma(alpha).clip(1e-30).astype(dtype).astype(np.float64)
      alpha = alpha.astype(dtype).astype(np.float64)
      step = 1e-3 * np.minimum(alpha, 1 + np.sqrt(alpha))
      at = lambda k: scipy.special.gammainc(alpha + k * step, sample)
      change = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
      expected = -change / scipy.stats.gamma(alpha).pdf(sample)
      found = gammas.OPS[1](alpha.astype(dtype), sample.astype(dtype))
      self.assertEqual(found.dtype, dtype)
      np.testing.assert_allclose(found, expected, rtol=2e-6)

  def test_gradient_at_ends(self):
    """NaN, infinities, and parameters too large for sums: as jax's."""
    nan, inf = np.nan, np.inf
    alpha = [0, 1, -1, 2, nan, 1, inf, 1, 0, 1e7, 1e8]
    sample = [1, 0, 2, -1, 1, nan, 1, inf, 0, 1.001e7, 0.9999e8]
    with jax.enable_x64(True):
      operands = np.array(alpha), np.array(sample)
      np.testing.assert_allclose(
          gammas.OPS[1](*operands), jax.lax.random_gamma_grad(*operands), 1e-7
      )

  def test_errors(self):
    key = jax.random.key(7)
    for arguments, keywords in (
        ((key, jnp.ones(3), (2,)), {}),
        ((key, jnp.ones(3)), {"dtype": "int32"}),
        ((jnp.ones(2), jnp.ones(3)), {}),
        ((key,), {}),
        ((key, "a"), {}),
        ((key, 1.0, "a"), {}),
        ((key, jnp.ones(3)), {"method": "none"}),
    ):
      with self.assertRaises((TypeError, ValueError)) as theirs:
        jax.random.gamma(*arguments, **keywords)
      with self.assertRaises(type(theirs.exception)) as ours:
        random.gamma(*arguments, **keywords)
      self.assertEqual(str(ours.exception), str(theirs.exception))


class MoreGammaTest(parameterized.TestCase):

  def test_gradient(self):
    key = jax.random.key(5)
    found, expected = (
        jax.grad(lambda a, f=f: f(key, a))(jnp.float32(2.5))
        for f in (random.gamma, jax.random.gamma)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)

  def test_vmap(self):
    """Over keys alone, and parameters alone."""
    ours, theirs = random.gamma, jax.random.gamma
    several = jax.random.split(jax.random.key(4), 5)
    alpha = _alphas(5 * 24).reshape(5, 24)
    for in_axes in ((0, None), (None, 0)):
      arguments = (
          several if in_axes[0] == 0 else several[0],
          alpha if in_axes[1] == 0 else alpha[1],
      )
      found, expected = (
          jax.vmap(f, in_axes)(*arguments) for f in (ours, theirs)
      )
      np.testing.assert_array_equal(found, expected)

  @parameterized.parameters(*_FUNCTIONS)
  def test_gradients(self, name):
    """In float32, jax's are off by up to 4e-4."""
    with jax.enable_x64(True):
      ours, theirs = getattr(random, name), getattr(jax.random, name)
      key = jax.random.key(5)
      alpha = _alphas(64)[11:].astype(np.float64)
      found, expected = (
          jax.grad(lambda a, f=f: jnp.sum(jnp.sin(f(key, a))))(alpha)
          for f in (ours, theirs)
      )
      np.testing.assert_allclose(found, expected, rtol=1e-9)
      found, expected = (
          jax.jvp(lambda a, f=f: f(key, a), (alpha,), (alpha,))
          for f in (ours, theirs)
      )
      np.testing.assert_array_equal(found[0], expected[0])
      np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)

  def test_what_is_jaxs(self):
    """Other dtypes, and other kinds of keys."""
    alpha = _alphas(32)[11:]
    for key, dtype in (
        (jax.random.key(6), jnp.bfloat16),
        (jax.random.key(6, impl="rbg"), jnp.float32),
    ):
      np.testing.assert_array_equal(
          random.gamma(key, alpha, dtype=dtype),
          jax.random.gamma(key, alpha, dtype=dtype),
      )


class FitTest(parameterized.TestCase):

  @parameterized.parameters(0.3, 0.9, 1.0, 4.5, 300.0)
  def test_distribution(self, alpha):
    """Kolmogorov and Smirnov's test, of SciPy."""
    sample = np.asarray(random.gamma(jax.random.key(8), alpha, (10**6,)))
    found = scipy.stats.kstest(sample, scipy.stats.gamma(alpha).cdf)
    self.assertGreater(found.pvalue, 1e-4)

  def test_bits_of_many(self):
    alpha = _alphas(2**20)
    key = jax.random.key(9)
    np.testing.assert_array_equal(
        random.gamma(key, alpha), jax.random.gamma(key, alpha)
    )


if __name__ == "__main__":
  absltest.main()
