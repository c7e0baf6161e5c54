# SPDX-License-Identifier: Apache-2.0
"""Medians, quantiles and percentiles have the bits of jax.numpy's."""

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import strategies
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np
import sorted_arrays

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import programs

# jax 0.12 does not keep the order of equal elements: zeros, subnormal numbers.
_KEEPS_ORDER = jax.__version_info__ < (0, 12)
_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def _draw(dtype=np.float32, shape=(5, 21, 4)):
  x = np.random.default_rng(0).normal(size=shape) * 30
  return jnp.asarray(x).astype(dtype)


def _strange():
  """Returns rows with few values, zeros of both signs and NaN."""
  x = np.random.default_rng(0).choice([-1.0, -0.0, 0.0, 1e-40, 2.0], (9, 20))
  x[1, 3], x[2, 5], x[3], x[4, :10] = np.nan, -np.nan, np.nan, np.nan
  x[5, 3], x[6], x[7] = np.inf, -np.inf, -np.nan
  return jnp.asarray(x, np.float32)


def _bits(x):
  tiny = jnp.finfo(x.dtype).smallest_normal
  x = np.asarray(x)
  return np.where(_KEEPS_ORDER or abs(x) >= tiny, x, abs(x) * 0).tobytes()


class QuantileTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))

  def _check(self, name, *args, **kwargs):
    expected = getattr(jnp, name)(*args, **kwargs)
    y = getattr(jax_ffi_ops, name)(*args, **kwargs)
    self._compare(y, expected, name)

  def _check_calls(self, calls, *operands):
    """Checks functions of a module and operands, in one program: it is faster."""
    found, expected = (
        programs.jit(lambda *x, m=m: [call(m, *x) for call in calls])(*operands)
        for m in (jax_ffi_ops, jnp)
    )
    for i, pair in enumerate(zip(found, expected, strict=True)):
      self._compare(*pair, f"call {i}")

  def _compare(self, y, expected, message):
    self.assertEqual(
        (y.dtype, y.shape), (expected.dtype, expected.shape), message
    )
    self.assertEqual(_bits(y), _bits(expected), message)

  @parameterized.parameters(*kit.ORDERED)
  def test_dtypes(self, dtype):
    with jax.enable_x64(dtype.itemsize == 8):
      self._check("median", _draw(dtype, (21, 4)), axis=0)

  @parameterized.parameters(0.3, ([0, 0.25, 0.77, 1, -0.2, 2],))
  def test_methods(self, q):
    calls = [
        lambda m, x, q, name=name, method=method: getattr(m, name)(
            x, q, 1, method=method
        )
        for name in ("quantile", "nanquantile")
        for method in _METHODS
    ]
    self._check_calls(calls, _strange(), jnp.asarray(q, np.float32))

  @sorted_arrays.many(
      strategies.sampled_from(("quantile", "nanquantile")),
      strategies.floats(0, 1),
      strategies.sampled_from(_METHODS),
  )
  def test_many(self, x, name, q, method):
    with jax.enable_x64(True):
      if x.size:
        self._check(name, x, jnp.asarray(q, np.float32), method=method)

  @parameterized.parameters(False, True)
  def test_axes(self, keepdims):
    x = _draw().at[0, 1].set(0.0).at[3, 1].set(-0.0)
    calls = []
    for axis in (None, -2, (2, 0), (0, 1, 2)):
      more = {"axis": axis, "keepdims": keepdims}
      calls += [
          lambda m, x, q, more=more: m.quantile(x, q, **more),
          lambda m, x, q, more=more: m.nanquantile(x, q, **more),
          lambda m, x, _, more=more: m.nanmedian(x, **more),
      ]
    self._check_calls(calls, x, jnp.asarray([0.1, 0.5]))

  @parameterized.parameters("median", "nanmedian")
  def test_strange_numbers(self, name):
    self._check(name, _strange(), 1)
    self._check(name, _strange(), 0)
    self._check(name, _strange())

  @parameterized.parameters("median", "nanmedian")
  def test_what_jax_does_to_numpys_arrays(self, name):
    """Without x64, it keeps 32 bits of integers; it refuses masks."""
    for x64 in (False, True):
      with jax.enable_x64(x64):
        self._check(name, np.array([2**40 + 5, 1, 2**31]))
        self._check(name, np.array([1e300, 1, 2]))
    masked = np.ma.array(np.ones(4), mask=[0, 1, 0, 0])
    with self.assertRaisesRegex(ValueError, "masked"):
      getattr(jax_ffi_ops, name)(masked)

  @parameterized.parameters("percentile", "nanpercentile")
  def test_percentile(self, name):
    self._check(name, _draw(), 35)
    self._check(name, _draw(), 35.5)
    x = _draw(shape=(50, 40))
    x = jnp.where(x > 30, np.nan, x)
    self._check(name, x, jnp.asarray([10.5, 99]), axis=0)

  def test_lengths(self):
    for n in (1, 2, 3):
      self._check("median", _draw(shape=n))
    self._check("median", _draw(shape=(0, 3)), axis=1)
    self._check("median", np.float32(3))

  # From 8192 on, elements are selected.
  @parameterized.parameters(8192, 8193)
  def test_long(self, n):
    rng = np.random.default_rng(n)
    strange = rng.choice([-0.0, 0.0, 1e-40, -1.0, 2.0], (n, 2))
    x = np.concatenate([strange, rng.normal(size=(n, 3))], 1)
    x[n // 3, 4] = np.nan
    x = jnp.asarray(x, np.float32)

    def results(module, x):
      f = lambda x, q, method: module.quantile(x, q, 0, method=method)
      median = lambda x: module.median(x, 0)
      cotangents = jax.grad(lambda x: (median(x)[:4] ** 2).sum())(x)
      return median(x), cotangents, [f(x, 0.3, method) for method in _METHODS]

    found, expected = (
        jax.tree.leaves(jax.jit(lambda x, module=m: results(module, x))(x))
        for m in (jax_ffi_ops, jnp)
    )
    for y, x in zip(found, expected, strict=True):
      self.assertEqual(_bits(y), _bits(x))
    self._check("median", x, 0)

  def test_transformations(self):
    x = _strange()
    results = []
    for module in (jax_ffi_ops, jnp):
      f = lambda x, q, f=module.quantile: f(x, q, -1)
      loss = lambda x, q, f=f: (f(x, q) ** 2).sum()
      results.append(
          jax.jit(
              lambda x, y, f=f, loss=loss, module=module: (
                  jax.vmap(f, in_axes=(0, None))(x, 0.3),
                  jax.grad(loss, argnums=(0, 1))(x[5:], 0.7),
                  jax.grad(module.median)(y),
                  jax.grad(module.nanmedian)(x[4]),
              )
          )(x, _draw(shape=40))
      )
    if not _KEEPS_ORDER:  # Nor which of equal elements has a derivative.
      results = jax.tree.map(lambda x: jnp.sort(jnp.atleast_1d(x)), results)
    jax.tree.map(np.testing.assert_array_equal, *results)

  def test_vmap_over_an_inner_axis(self):
    x = _draw()
    for name in ("median", "nanmedian"):
      found, expected = (
          jax.vmap(lambda x, f=getattr(m, name): f(x, 0), 1, 1)(x)
          for m in (jax_ffi_ops, jnp)
      )
      self.assertEqual(_bits(found), _bits(expected))

  @parameterized.parameters(40, 8200)
  def test_split_rows(self, n):
    """Of short rows, which are sorted, and of long ones."""
    x = _draw(shape=(8, n))
    place = NamedSharding(devices.mesh(x=8), P("x"))
    split = jax.device_put(x, place)
    for name in ("median", "nanmedian"):
      program = jax.jit(lambda x, f=getattr(jax_ffi_ops, name): f(x, -1))
      program = program.lower(split).compile()
      expected = getattr(jnp, name)(x, -1)
      self.assertEqual(_bits(program(split)), _bits(expected))
      self.assertNotRegex(program.as_text(), "all-|collective")

  @parameterized.parameters(
      (np.ones((3, 4), np.float32), 0.5, 3),
      (np.ones((3, 4), np.float32), 0.5, (0, 0)),
      (np.ones((3, 4), np.float32), 0.5, None, None, False, "no method"),
      (np.ones((3, 4), np.float32), [0.5]),
      (np.ones((3, 4), np.float32), np.ones((2, 2), np.float32)),
      (np.ones((3, 4), np.float32), 1),
      (np.ones((3, 4), np.float32), 0.5, None, np.ones(3)),
      (np.ones((3, 4), np.float32), 0.5, 0.5),
      ([1.0], 0.5),
      (np.ones(3, np.complex64), 0.5),
      (np.ones((3, 0), np.float32), 0.5, 1),
      (np.ma.array(np.ones(4), mask=[0, 1, 0, 0]), 0.5),
      (np.ones(4), np.ma.array([0.5, 0.6], mask=[0, 1])),
  )
  def test_errors(self, *args):
    wrong = (TypeError, ValueError, AttributeError)
    with self.assertRaises(wrong) as expected:
      jnp.quantile(*args)
    with self.assertRaises(type(expected.exception)) as found:
      jax_ffi_ops.quantile(*args)
    self.assertEqual(str(found.exception), str(expected.exception))


if __name__ == "__main__":
  devices.force()
  absltest.main()
