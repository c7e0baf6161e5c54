# SPDX-License-Identifier: Apache-2.0
"""Poisson and binomially distributed numbers have the bits of jax.random."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

from jax_ffi_ops import kit
from jax_ffi_ops import random

# Knuth's method is for rates below 10.
_RATES = [
    0, -0.0, 1e-40, 1e-30, 0.5, 9.999, 10, 10.001, 1e5, 1e9, 1e10, 1e30, 3e38,
    -1, -np.inf, np.inf, np.nan,
]  # fmt: skip

# Inversion is for up to 10 expected successes. With -0.0, and with an infinite
# number of trials of which none succeeds, jax does not end.
_TRIALS = [0, 1, 2.5, 30, 1e4, 1e9, 1e30, 3e38, -1, np.inf, -np.inf, np.nan]
_CHANCES = [0, 1, 0.5, 1e-30, 0.3, 0.7, -0.1, 1.1, np.inf, -np.inf, np.nan]


def _rates(n):
  rates = np.exp(np.random.default_rng(n).normal(1.5, 2, n))
  rates[: len(_RATES)] = _RATES[:n]
  return rates.astype(np.float32)


def _experiments(n):
  rng = np.random.default_rng(n)
  trials = np.floor(np.exp(rng.normal(4, 2, n)))
  chances = rng.uniform(0, 1, n)
  special = [
      (t, p)
      for t in _TRIALS
      for p in _CHANCES
      if not (t == np.inf and p in (0, 1))
  ][:n]
  if special:
    trials[: len(special)], chances[: len(special)] = zip(*special)
  return trials.astype(np.float32), chances.astype(np.float32)


def _arguments(name, shape):
  n = int(np.prod(shape))
  arrays = (_rates(n),) if name == "poisson" else _experiments(n)
  return [x.reshape(shape) for x in arrays]


_FUNCTIONS = ("poisson", "binomial")


class CountsTest(parameterized.TestCase):

  def _assert_same(self, name, *arguments, **keywords):
    # jax.random.binomial is no program of its own.
    theirs = jax.jit(lambda *a: getattr(jax.random, name)(*a, **keywords))
    found = getattr(random, name)(*arguments, **keywords)
    expected = theirs(*arguments)
    self.assertEqual(found.dtype, expected.dtype)
    np.testing.assert_array_equal(found, expected)

  @parameterized.product(
      name=_FUNCTIONS, partitionable=(True, False), key=("typed", "words")
  )
  def test_bits(self, name, partitionable, key):
    with jax.threefry_partitionable(partitionable):
      of = jax.random.key if key == "typed" else jax.random.PRNGKey
      self._assert_same(name, of(1), *_arguments(name, (3, 1367)))

  @parameterized.product(name=_FUNCTIONS, partitionable=(True, False))
  def test_sizes(self, name, partitionable):
    with jax.threefry_partitionable(partitionable):
      for n in (0, 1, 2, 15, 17):
        # Those behind the special ones.
        arguments = [x[200:] for x in _arguments(name, (200 + n,))]
        self._assert_same(name, jax.random.key(n), *arguments)

  @parameterized.parameters(0.5, 9.5, 10.0, 40.0, 3e3, 1e6)
  def test_rates(self, rate):
    """All numbers by one method, and so with rounds of their own."""
    self._assert_same("poisson", jax.random.key(2), np.full(5000, rate))

  @parameterized.parameters((10, 0.3), (40, 0.5), (1e4, 0.9), (1e7, 0.01))
  def test_experiments(self, n, p):
    key = jax.random.key(3)
    self._assert_same("binomial", key, np.full(5000, n), np.full(5000, p))

  @parameterized.parameters(*_FUNCTIONS)
  def test_handler_runs(self, name):
    arguments = _arguments(name, (300,))
    text = kit.explain(getattr(random, name), jax.random.key(0), *arguments)
    self.assertRegex(text, f"random_{name}.*cpu.*handler")

  @parameterized.product(name=_FUNCTIONS, rest=((), (3,), (700,)))
  def test_vmap(self, name, rest):
    """Over keys, parameters, and both. Each row has rounds of its own."""
    ours, theirs = getattr(random, name), getattr(jax.random, name)
    several = jax.random.split(jax.random.key(4), 40)
    arrays = [x[300:] for x in _arguments(name, (340, *rest))]
    for key_axis, axis in ((0, None), (None, 0), (0, 0)):
      arguments = [several if key_axis == 0 else several[0]]
      arguments += arrays if axis == 0 else [x[0] for x in arrays]
      in_axes = (key_axis, *[axis] * len(arrays))
      found, expected = (
          jax.jit(jax.vmap(f, in_axes))(*arguments) for f in (ours, theirs)
      )
      np.testing.assert_array_equal(found, expected)

  def test_arguments(self):
    key = jax.random.key(5)
    for name, arguments, keywords in (
        ("poisson", (20.0, (3, 5)), {}),
        ("poisson", (np.arange(5),), {"shape": (4, 5), "dtype": np.int8}),
        ("poisson", (np.arange(5.0), (5,)), {"dtype": np.uint32}),
        ("binomial", (20, 0.25, (30,)), {}),
        ("binomial", (np.arange(5), 0.25), {"shape": (4, 5)}),
        ("binomial", (20.0, np.arange(2),), {}),
        ("binomial", (20.0, np.linspace(0, 1, 9), (9,), jnp.bfloat16), {}),
        ("binomial", (20.0, np.linspace(0, 1, 9).astype(np.float16)), {}),
    ):  # fmt: skip
      ours, theirs = (
          getattr(module, name)(key, *arguments, **keywords)
          for module in (random, jax.random)
      )
      self.assertEqual(ours.dtype, theirs.dtype)
      np.testing.assert_array_equal(ours, theirs)

  @parameterized.parameters(*_FUNCTIONS)
  def test_64_bits(self, name):
    with jax.enable_x64(True):
      arguments = _arguments(name, (300,))
      self._assert_same(name, jax.random.key(6), *arguments)
      self._assert_same(
          name, jax.random.key(6), *[x.astype(np.float64) for x in arguments]
      )

  @parameterized.parameters(*_FUNCTIONS)
  def test_no_derivatives(self, name):
    arguments = [jnp.full(5, x) for x in ((30.0,), (30.0, 0.7))[name[0] == "b"]]
    draw = lambda *a: jnp.sum(
        getattr(random, name)(jax.random.key(7), *a) * 1.5
    )
    for gradient in jax.grad(draw, range(len(arguments)))(*arguments):
      np.testing.assert_array_equal(gradient, np.zeros(5))

  def test_errors(self):
    key = jax.random.key(8)
    for name, arguments, keywords in (
        ("poisson", (key, jnp.ones(3), (2,)), {}),
        ("poisson", (key, 1.0), {"dtype": np.float32}),
        ("poisson", (jnp.ones(2), 1.0), {}),
        ("poisson", (jax.random.key(8, impl="rbg"), 1.0), {}),
        ("poisson", (key,), {}),
        ("poisson", (key, 1.0), {"method": "none"}),
        ("binomial", (key, jnp.ones(3), 0.5, (2,)), {}),
        ("binomial", (key, 1.0, 0.5), {"dtype": np.int32}),
        ("binomial", (key, 1.0, "a"), {}),
    ):
      with self.assertRaises(Exception) as theirs:
        getattr(jax.random, name)(*arguments, **keywords)
      with self.assertRaises(type(theirs.exception)) as ours:
        getattr(random, name)(*arguments, **keywords)
      self.assertEqual(str(ours.exception), str(theirs.exception))


class FitTest(CountsTest):

  @parameterized.parameters(*_FUNCTIONS)
  def test_bits_of_many(self, name):
    key = jax.random.key(9)
    self._assert_same(name, key, *_arguments(name, (2**16 + 3,)))

  @parameterized.parameters(0.3, 8.0, 12.0, 300.0)
  def test_poisson(self, rate):
    self._assert_fits(
        random.poisson(jax.random.key(10), rate, (10**6,)),
        scipy.stats.poisson(rate),
    )

  @parameterized.parameters((20, 0.2), (20, 0.9), (100, 0.4))
  def test_binomial(self, n, p):
    self._assert_fits(
        random.binomial(jax.random.key(11), n, p, (10**6,)),
        scipy.stats.binom(n, p),
    )

  def _assert_fits(self, counts, distribution):
    """Pearson's test, of the values that are expected often enough."""
    counts = np.asarray(counts).astype(np.int64)
    found = np.bincount(counts).astype(float)
    expected = len(counts) * distribution.pmf(np.arange(len(found)))
    often = expected > 100
    found = np.append(found[often], found[~often].sum() + 1e-9)
    expected = np.append(expected[often], len(counts) - expected[often].sum())
    statistic = np.sum((found - expected) ** 2 / np.maximum(expected, 1))
    p = scipy.stats.chi2(len(found) - 1).sf(statistic)
    self.assertGreater(p, 1e-4)


if __name__ == "__main__":
  absltest.main()
