# SPDX-License-Identifier: Apache-2.0
"""Each family of primitives in C++ that the build wrote, against jax."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import families
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

_MOST_ROWS = 200
_SPECIAL = {
    "f": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 0.5, 1.5],
    "i": [0, -1, 1, 31, 32, 33, 2**31 - 1, -(2**31), -32, 2],
    "u": [0, 1, 2**32 - 1],
}


def _built(*names):
  return parameterized.parameters([(x,) for x in names if x in families.OPS])


def _operands(shapes, rows, rng, special):
  for core, dtype, axis in shapes:
    dtype = np.dtype(dtype)
    shape = core if axis is None else (rows, *core)
    if special == "rare" and dtype.kind == "f":
      x = rng.normal(size=shape).astype(dtype)
      few = rng.choice([np.nan, np.inf], shape).astype(dtype)
      yield np.where(rng.uniform(size=shape) < 0.02, few, x)
    elif special is True:
      yield rng.choice(np.array(_SPECIAL[dtype.kind], dtype), shape)
    elif dtype.kind == "f":
      yield rng.normal(size=shape).astype(dtype)
    elif dtype.kind == "u":
      yield rng.integers(0, 2**32, shape, dtype)
    else:
      yield rng.integers(-9, 10, shape, dtype)


@functools.cache
def _by_jax(name):
  return jax.jit(families.OPS[name][1])


def _expected(name, operands, rows):
  """Returns what jax computes. It compiles a family once, for _MOST_ROWS."""
  shapes = families.OPS[name][2]
  wide = [
      x if axis is None else np.resize(x, (_MOST_ROWS, *x.shape[1:]))
      for x, (*_, axis) in zip(operands, shapes, strict=True)
  ]
  return [x[:rows] for x in _by_jax(name)(*wide)]


class FamiliesTest(parameterized.TestCase):

  def _check(self, name, rows, special=False):
    op, _, shapes = families.OPS[name]
    rng = np.random.default_rng(rows)
    operands = list(_operands(shapes, rows, rng, special))
    got = op(*operands)
    expected = _expected(name, operands, rows)
    if special and name == "functions":  # pow and atan2 have their own test.
      got, expected = got[:-2], expected[:-2]
    for i, (x, want) in enumerate(zip(got, expected, strict=True)):
      self.assertEqual(x.dtype, want.dtype)
      if x.dtype.kind != "f":
        np.testing.assert_array_equal(x, want, f"result {i}")
        continue
      # Results of up to 400 terms of size 1, or of inverses of matrices of
      # condition 20; rounded to 2^-24.
      x, want = np.asarray(x), np.asarray(want)
      np.testing.assert_allclose(
          x,
          want,
          rtol=400 * 2**-24,
          atol=400 * 2**-24,
          err_msg=f"result {i}",
      )

  @parameterized.product(name=list(families.OPS), rows=(1, 3, 21))
  def test_values(self, name, rows):
    self._check(name, rows)

  @parameterized.parameters(1, 21)
  def test_casts_round_once(self, rows):
    """Against NumPy: XLA may leave a cast to 16 bits and back out."""
    rng = np.random.default_rng(0)
    shapes = families.OPS["casts"][2]
    for special in (False, True):
      a, b, c = _operands(shapes, rows, rng, special)
      b *= 1001  # Some are halfway between two numbers.
      with np.errstate(over="ignore", invalid="ignore"):
        large = a * np.float32(40000)
        values = [a, large, a * np.float32(2**-20), b]
        expected = [
            x.astype(half).astype(np.float32)
            for x in values
            for half in (np.float16, jnp.bfloat16)
        ]
      few = np.abs(a) < np.finfo(np.float32).tiny
      for i, (x, want) in enumerate(
          zip(families.OPS["casts"][0](a, b, c), expected)
      ):
        want = np.where(few & (2 <= i < 6), want * 0, want)  # Products flush.
        np.testing.assert_array_equal(x, want, f"result {i}")
        np.testing.assert_array_equal(
            np.signbit(x), np.signbit(want), f"result {i}"
        )

  @parameterized.parameters(*families.OPS)
  def test_same_bits_in_any_call(self, name):
    op, _, shapes = families.OPS[name]
    operands = list(_operands(shapes, 65, np.random.default_rng(0), False))
    together = op(*operands)
    for begin, end in ((0, 1), (64, 65), (0, 3), (5, 13), (1, 65)):
      part = [
          x if axis is None else x[begin:end]
          for x, (*_, axis) in zip(operands, shapes, strict=True)
      ]
      for i, (x, want) in enumerate(zip(op(*part), together, strict=True)):
        x, want = np.asarray(x), np.asarray(want)[begin:end]
        np.testing.assert_array_equal(x, want, f"result {i}")
        if x.dtype.kind == "f":  # Of zeros, too.
          numbers = ~np.isnan(x)
          np.testing.assert_array_equal(
              np.signbit(x[numbers]), np.signbit(want[numbers])
          )

  @_built("arithmetic", "functions", "integers", "indices", "sorts")
  def test_special_values(self, name):
    self._check(name, _MOST_ROWS, special=True)

  @_built("changes", "control", "dots", "uniform")
  def test_nan_and_infinity_here_and_there(self, name):
    self._check(name, 50, special="rare")


if "functions" in families.OPS:

  class FunctionsTest(absltest.TestCase):

    def test_subnormal_numbers_are_zeros(self):
      """For pow and atan2. XLA has NaN for atan2 of two, and for -1.0**1e-40."""
      grid = np.meshgrid(np.float32(_SPECIAL["f"]), np.float32(_SPECIAL["f"]))
      # The op takes six numbers.
      a, b = (x.reshape(-1, 5)[:, [0, 1, 2, 3, 4, 0]] for x in grid)
      op, function, _ = families.OPS["functions"]
      least, zero = np.finfo(np.float32).tiny, np.float32(0)
      flushed = [
          np.where(np.abs(x) < least, np.copysign(zero, x), x) for x in (a, b)
      ]
      normal = (a == flushed[0]) & (b == flushed[1])
      by_xla = jax.jit(function)(a, b)[-2:]
      with np.errstate(all="ignore"):
        by_numpy = np.power(*flushed), np.arctan2(*flushed)
      for got, want, xla in zip(op(a, b)[-2:], by_numpy, by_xla):
        # A result may be flushed, too. Its error is at most 1 ulp of ours, and 1
        # of NumPy's.
        np.testing.assert_allclose(got, want, rtol=2**-22, atol=least)
        got, xla = np.asarray(got)[normal], np.asarray(xla)[normal]
        np.testing.assert_allclose(got, xla, rtol=400 * 2**-24, atol=least)


if "gammas" in families.OPS and "incomplete_gammas" in families.OPS:

  class GammasTest(absltest.TestCase):

    def _check(self, got, expected):
      for i, (x, want) in enumerate(zip(got, expected)):
        x = np.asarray(x)
        # Without those that float32 does not have.
        checked = (np.abs(want) > 1e-37) & (np.abs(want) < 1e38)
        ulp = np.spacing(np.abs(want[checked]).astype(np.float32))
        error = np.abs(x[checked] - want[checked]) / ulp
        self.assertLess(error.max(), 0.6, f"result {i}")
        self.assertGreater(checked.mean(), 0.5)

    def test_against_scipy(self):
      special, rng = scipy.special, np.random.default_rng(0)
      # Integers: exp2 of them is exact.
      a, b = (np.float32(rng.integers(-9, 10, (500, 6))) for _ in "ab")
      x, y = np.exp2(np.float64(a)), np.exp2(np.float64(b))
      got = families.OPS["gammas"][0](a)
      self._check(got[::2], [special.gammaln(x), special.digamma(x)])
      got = families.OPS["incomplete_gammas"][0](a, b)
      with np.errstate(all="ignore"):
        expected = [
            special.zeta(1 + x, y),
            special.gammainc(x, y),
            special.gammaincc(x, y),
        ]
      self._check(got, expected)
      a += rng.normal(size=a.shape).astype(np.float32)
      x = np.float64(a)
      got = families.OPS["gammas"][0](a)
      of_any = [special.gammaln(x), special.digamma(x)]
      self._check(got[1:4:2], of_any)
      self._check(got[4:], [special.i0e(x), special.i1e(x)])
      got = families.OPS["incomplete_gammas"][0](a, b)
      self._check(got[5:], [special.zeta(1 + np.abs(np.float64(b)), x)])


if __name__ == "__main__":
  absltest.main()
