# SPDX-License-Identifier: Apache-2.0
"""Functions of jax_ffi_ops.random return what those of jax.random return."""

import inspect

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import random

_P = np.linspace(0.01, 0.99, 300, dtype=np.float32)
_COV = np.array([[2, 0.5], [0.5, 1]], np.float32)

# Arguments after the key.
_CALLS = {
    "ball": (3, 2, (100,)),
    "bernoulli": (_P,),
    "beta": (_P, 2.0),
    "binomial": (50, _P),
    "bits": ((300,),),
    "categorical": (np.zeros((7, 300), np.float32),),
    "cauchy": ((300,),),
    "chisquare": (3.5, (300,)),
    "choice": (1000, (300,)),
    "dirichlet": (np.ones(3, np.float32), (100,)),
    "double_sided_maxwell": (0.5, 2.0, (300,)),
    "exponential": ((300,),),
    "f": (3.0, 4.0, (300,)),
    "fold_in": (7,),
    "gamma": (_P,),
    "generalized_normal": (1.5, (300,)),
    "geometric": (_P,),
    "gumbel": ((300,),),
    "laplace": ((300,),),
    "loggamma": (_P,),
    "logistic": ((300,),),
    "lognormal": (1.5, (300,)),
    "maxwell": ((300,),),
    "multinomial": (100.0, np.array([0.2, 0, 0.5, 0.3], np.float32)),
    "multivariate_normal": (np.zeros(2, np.float32), _COV, (150,)),
    "normal": ((300,),),
    "orthogonal": (3, (40,)),
    "pareto": (2.0, (300,)),
    "permutation": (300,),
    "poisson": (30 * _P,),
    "rademacher": ((300,),),
    "randint": ((300,), -3, 1000),
    "rayleigh": (2.0, (300,)),
    "split": (300,),
    "t": (3.0, (300,)),
    "triangular": (0.0, 0.3, 1.0, (300,)),
    "truncated_normal": (-1.0, 2.0, (300,)),
    "uniform": ((300,), np.float32, -1, 2),
    "wald": (0.5, (300,)),
    "weibull_min": (2.0, 1.5, (300,)),
}

# Others of the kinds of calls that there are.
_MORE = [
    ("bernoulli", (0.25, (3, 100)), {"mode": "high"}),
    ("categorical", (_P,), {"shape": (7,)}),
    ("categorical", (np.stack([_P] * 3),), {"shape": (5, 3), "replace": False}),
    ("categorical", (np.stack([_P] * 3),), {"axis": 0, "mode": "high"}),
    ("categorical", (np.stack([_P] * 3),), {"axis": np.array(0)}),
    ("fold_in", (2**32 - 2,), {}),
    ("split", (np.int64(3),), {}),
    ("split", ((2, 3),), {}),
    ("uniform", (np.array([3, 2]),), {}),
    ("choice", (np.int64(50), (3,)), {}),
    ("orthogonal", (np.int64(3),), {}),
    ("multinomial", (20, _P.reshape(3, 100) / 60), {"unroll": 2}),
    ("multinomial", (np.arange(9.0), np.ones(5) / 5), {"shape": (9, 5)}),
    ("choice", (np.arange(600).reshape(2, 300), (10,)), {"axis": 1}),
    ("choice", (300, (20,)), {"replace": False}),
    ("choice", (300, (20,)), {"replace": False, "p": _P / _P.sum()}),
    ("choice", (300, [20]), {"p": _P / _P.sum()}),
    ("normal", ((300,), jnp.bfloat16), {}),
    ("normal", ((300,), jnp.complex64), {}),
    ("randint", ((300,), 0, 256, np.uint8), {}),
    ("uniform", ((0, 3),), {}),
    ("uniform", ((300,), np.float16), {"minval": _P.astype(np.float16)}),
]

# What jax.random has besides, which makes no numbers.
_OF_KEYS = {
    "Key", "PRNGKey", "clone", "key", "key_data", "key_dtype", "key_impl",
    "wrap_key_data",
}  # fmt: skip


def _data(x):
  if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
    x = jax.random.key_data(x)
  return np.asarray(x)


class SameTest(parameterized.TestCase):

  def _assert_same(self, name, key, arguments, keywords):
    ours = getattr(random, name)(key, *arguments, **keywords)
    theirs = getattr(jax.random, name)(key, *arguments, **keywords)
    self.assertEqual(ours.dtype, theirs.dtype)
    np.testing.assert_array_equal(_data(ours), _data(theirs))


class EveryFunctionTest(SameTest):

  @parameterized.parameters(*_CALLS)
  def test_bits(self, name):
    self._assert_same(name, jax.random.key(1), _CALLS[name], {})

  @parameterized.parameters(*_MORE)
  def test_more(self, name, arguments, keywords):
    self._assert_same(name, jax.random.key(2), arguments, keywords)

  @parameterized.parameters("rbg", "unsafe_rbg")
  def test_other_kinds_of_keys(self, kind):
    for name in ("split", "categorical"):
      self._assert_same(name, jax.random.key(4, impl=kind), _CALLS[name], {})


class SamplersTest(SameTest):

  # gamma_test has what is made of gamma numbers.
  @parameterized.parameters(
      "categorical", "choice", "fold_in", "normal", "randint", "split"
  )
  def test_bits(self, name):
    self._assert_same(name, jax.random.key(1), _CALLS[name], {})

  @parameterized.parameters("choice", "split")
  def test_in_halves(self, name):
    with jax.threefry_partitionable(False):
      self._assert_same(name, jax.random.PRNGKey(3), _CALLS[name], {})

  def test_other_kinds_of_keys(self):
    key = jax.random.key(4, impl="rbg")
    self._assert_same("uniform", key, _CALLS["uniform"], {})

  def test_words_of_a_default_kind(self):
    """The words of a key do not say which kind it is of."""
    words = np.arange(4, dtype=np.uint32)
    for kind in ("rbg", "unsafe_rbg"):
      with jax.default_prng_impl(kind):
        keys = jax.random.split(words, 3)
        found, expected = (
            jax.vmap(split)(keys) for split in (random.split, jax.random.split)
        )
        np.testing.assert_array_equal(found, expected)

  def test_arguments_of_equal_value(self):
    """A program of 3 keys is none of 3.0, and compares with one of (2, 3)."""
    key = jax.random.key(13)
    for sizes in ((np.int64(3), (2, 3), 3), ((2, 3), np.int64(3), 3)):
      for size in sizes:
        shape = jax.random.split(key, size).shape
        self.assertEqual(random.split(key, size).shape, shape)
    random.uniform(key, (3, 2))
    with self.assertRaises(TypeError):
      random.uniform(key, (3.0, 2))

  def test_configurations_that_are_jaxs(self):
    with jax.debug_key_reuse(True):
      key = jax.random.key(14)
      random.normal(key, (3,))
      with self.assertRaises(jax.errors.KeyReuseError):
        random.normal(key, (3,))
    alpha = np.ones(30, np.float32)
    with jax.set_mesh(jax.make_mesh((1,), ("x",))):
      self._assert_same("gamma", jax.random.key(15), (alpha,), {})

  def test_symbolic_sizes(self):
    (n,) = export.symbolic_shape("n")
    alpha = jax.ShapeDtypeStruct((n,), np.float32)
    key = jax.random.key(16)
    exported = export.export(jax.jit(lambda a: random.gamma(key, a)))(alpha)
    self.assertEqual(exported.call(_P).shape, _P.shape)

  def test_all_are_there(self):
    public = {n for n in dir(jax.random) if not n.startswith("_")}
    functions = {n for n in public if callable(getattr(jax.random, n))}
    self.assertEmpty(functions - _OF_KEYS - set(dir(random)))
    self.assertContainsSubset(_CALLS, functions)

  def test_signatures(self):
    for name in set(_CALLS) - {"permutation"}:
      ours, theirs = getattr(random, name), getattr(jax.random, name)
      self.assertEqual(inspect.signature(ours), inspect.signature(theirs))
      self.assertEqual(ours.__name__, name)
      self.assertStartsWith(ours.__doc__, f"Returns what jax.random.{name} ")

  def test_errors(self):
    key = jax.random.key(5)
    for name, arguments, keywords in (
        ("uniform", (key, (-1,)), {}),
        ("uniform", (key, (3,), np.int32), {}),
        ("uniform", (jax.random.split(key), (3,)), {}),
        ("uniform", (0, (3,)), {}),
        ("uniform", (key, (3,)), {"no": 1}),
        ("normal", (key, "a"), {}),
        ("bits", (key, (3,), np.float32), {}),
        ("split", (jax.random.split(key),), {}),
        ("categorical", (key, "a"), {}),
        ("choice", (key, 3, (5,)), {"replace": False}),
        ("fold_in", (key, -1), {}),
        ("uniform", (key, (3.0, 2)), {}),
        ("randint", (key, (3,), 0, 5, np.float32), {}),
    ):
      with self.assertRaises(Exception) as theirs:
        getattr(jax.random, name)(*arguments, **keywords)
      with self.assertRaises(type(theirs.exception)) as ours:
        getattr(random, name)(*arguments, **keywords)
      self.assertEqual(str(ours.exception), str(theirs.exception))

  def test_in_programs(self):
    """Under jit, in loops, with gradients, and exported."""

    def walk(module, scale):
      def step(carry, _):
        key, x = carry
        key, own = module.split(key)
        x = x + scale * module.normal(own, (300,)) * module.gamma(own, scale)
        return (key, x), x.sum()

      start = jax.random.key(6), jnp.zeros(300)
      return jnp.sum(jax.lax.scan(step, start, length=3)[1])

    expected = jax.jit(jax.value_and_grad(lambda s: walk(jax.random, s)))(1.5)
    found = jax.jit(jax.value_and_grad(lambda s: walk(random, s)))(1.5)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    draw = jax.jit(lambda data: random.normal(jax.random.wrap_key_data(data),
                                              (4, 200)))  # fmt: skip
    data = jax.random.key_data(jax.random.key(7))
    exported = export.export(
        draw, disabled_checks=kit.export_checks(random.normal)
    )(data)
    found = export.deserialize(exported.serialize()).call(data)
    np.testing.assert_array_equal(found, draw(data))


if __name__ == "__main__":
  absltest.main()
