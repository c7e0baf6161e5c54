# SPDX-License-Identifier: Apache-2.0
"""unique has the bits of jax.numpy.unique."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import strategies
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np
from same_as_jax import SameAsJaxTest
import sorted_arrays

from jax_ffi_ops import kit
from jax_ffi_ops import unique
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import programs

_ALL = dict(return_index=True, return_inverse=True, return_counts=True)
_FEW = np.float32([2, np.nan, -0.0, 2, 0, 1, np.nan, 1, 7, 1e-40, np.inf] * 3)


def _both(run):
  """Calls one function with each of those that are to be the same."""
  return run(unique), run(jnp.unique)


def _jitted(function, x, **options):
  return programs.jit(functools.partial(function, **options))(x)


def _definition(x, equal_nan):
  """Returns the distinct elements, first indices, inverse, and counts."""
  order = sorted_arrays.stable_order(x, 0, False)
  y = x[order]
  keys = sorted_arrays.equal_keys(y)
  differs = keys[1:] != keys[:-1]
  if not equal_nan and jnp.issubdtype(x.dtype, jnp.floating):
    differs |= np.isnan(y[1:].astype(np.float64))
  (first,) = np.nonzero(np.append(True, differs))
  inverse = np.zeros(len(x), int)
  inverse[order] = np.append(0, np.cumsum(differs))
  return y[first], order[first], inverse, np.diff(np.append(first, len(x)))


class UniqueTest(SameAsJaxTest):

  def _check(self, x, found, equal_nan=True):
    """Checks what was found with all options and a size, which is enough."""
    values, at, inverse, counts = _definition(x, equal_nan)
    rest = len(found[0]) - len(values)
    filled = lambda y, fill: jnp.asarray(np.append(y, np.repeat(fill, rest)))
    self.assert_same(found[0], filled(values, values[:1]))
    np.testing.assert_array_equal(found[1], filled(at, at[:1]))
    np.testing.assert_array_equal(found[2], inverse)
    np.testing.assert_array_equal(found[3], filled(counts, 0))

  def test_definition(self):
    """One program for all dtypes, with values of all kinds in one array."""
    with jax.enable_x64(True):
      arrays = [
          np.concatenate(list(sorted_arrays.arrays(dtype, (40,))))
          for dtype in kit.ORDERED
      ]
      run = jax.jit(lambda xs: [unique(x, size=200, **_ALL) for x in xs])
      plain = jax.jit(lambda xs: [unique(x, size=200) for x in xs])
      for x, found, values in zip(arrays, run(arrays), plain(arrays)):
        self._check(x, found)
        self.assert_same(values, found[0])

  @sorted_arrays.many(strategies.booleans(), strategies.integers(0, 3))
  def test_many(self, x, equal_nan, more):
    with jax.enable_x64(True):
      if x.size:
        size = len(_definition(x, equal_nan)[0]) + more
        options = dict(equal_nan=equal_nan, size=size, **_ALL)
        self._check(x, _jitted(unique, x, **options), equal_nan)

  def test_namesake(self):
    options = dict(size=70, equal_nan=False, fill_value=3, **_ALL)
    for dtype in (np.float32, jnp.bfloat16):
      x = np.concatenate(list(sorted_arrays.arrays(dtype, (40,))))
      self.assert_same(*_both(lambda f, x=x: _jitted(f, x, **options)))

  def test_size_not_given(self):
    self.assert_same(*_both(lambda f: f(_FEW)))
    self.assert_same(*_both(lambda f: f(_FEW, equal_nan=False, **_ALL)))

  # Counted 32 by 32, and 64 of these at a time.
  @parameterized.parameters(1, 2049, 70_000)
  def test_inverse(self, n):
    x = np.random.default_rng(n).integers(0, n, n).astype(np.int32)
    _, *expected = np.unique(x, return_inverse=True, return_counts=True)
    _, *found = _jitted(
        unique, x, size=n + 1, return_inverse=True, return_counts=True
    )
    np.testing.assert_array_equal(found[0], expected[0])
    different = len(expected[1])
    np.testing.assert_array_equal(found[1][:different], expected[1])
    self.assertFalse(np.any(found[1][different:]))

  @parameterized.parameters(0, -1)
  def test_rows(self, axis):
    x = _FEW[:32].reshape(8, 1, 4).astype(np.float16)
    x[::3], x[..., 2] = x[0], x[..., 0]  # Among them are NaN and -0.
    options = dict(axis=axis, size=6, **_ALL)
    self.assert_same(*_both(lambda f: _jitted(f, x, **options)))

  @parameterized.parameters(
      ((2, 3), dict(sorted=False)), ((), {}), ((3, 0), dict(axis=0)),
      ((0,), dict(size=3, fill_value=1)),
  )  # fmt: skip
  def test_shapes(self, shape, options):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape) // 2
    self.assert_same(*_both(lambda f: f(x, **options, **_ALL)))

  def test_complex(self):
    self.assert_same(*_both(lambda f: f(_FEW * 1j, **_ALL)))

  @parameterized.parameters(
      (_FEW, dict(axis=1)), (_FEW, dict(size="a")), ([1, 2], {}),
      (_FEW[:0], dict(size=3)), (_FEW, dict(axis=0.5)),
      (_FEW, dict(size=40, fill_value="a")),
  )  # fmt: skip
  def test_errors(self, x, options):
    self.assert_same_error(
        *(functools.partial(f, **options) for f in (unique, jnp.unique)), x
    )

  def test_size_has_to_be_given(self):
    with self.assertRaises(jax.errors.ConcretizationTypeError):
      jax.jit(unique)(_FEW)

  def test_gradient(self):
    weights = np.arange(1.0, 13.0, dtype=np.float32)

    def loss(x, fill, function, **options):
      found = function(x, size=12, fill_value=fill, **options)
      found = found if isinstance(found, jax.Array) else found[0]
      return jnp.vdot(jnp.where(jnp.isfinite(found), found, 0), weights)

    run = lambda f: programs.jit(jax.grad(lambda x: loss(x, None, f)))(_FEW)
    self.assert_same(*_both(run))
    run = lambda f: programs.jit(
        jax.grad(lambda *xs: loss(*xs, f, return_index=True), (0, 1))
    )(_FEW, 2.0)
    self.assert_same(*_both(run))

  def test_vmap(self):
    x = np.stack([_FEW, _FEW[::-1], 2 * _FEW], 1)
    mapped = lambda f: jax.vmap(
        lambda x: f(x, size=8, **_ALL), in_axes=1, out_axes=1
    )
    self.assert_same(*_both(lambda f: programs.jit(mapped(f))(x)))

  def test_split_over_devices(self):
    x = np.resize(_FEW, (8, 20))
    place = NamedSharding(devices.mesh(x=8), P("x"))
    run = programs.jit(jax.vmap(lambda x: unique(x, size=8, **_ALL)))
    self.assert_same(run(jax.device_put(x, place)), run(x))


if __name__ == "__main__":
  devices.force()
  absltest.main()
