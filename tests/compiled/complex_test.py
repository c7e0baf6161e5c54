# SPDX-License-Identifier: Apache-2.0
"""Compiled functions of complex numbers, against NumPy's complex128 and jax."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH


def _functions(a, b, xp=jnp):
  """Functions that NumPy has, too."""
  return (
      a * b, a / b, a - b, -a, xp.abs(a), xp.sign(a), xp.conj(a), a**3, a**-2,
      xp.square(a), xp.sqrt(a), 1 / xp.sqrt(a), xp.exp(a), xp.log(a), xp.sin(a),
      xp.cos(a), xp.tan(a), xp.sinh(a), xp.cosh(a), xp.tanh(a), xp.expm1(a),
      xp.log1p(a), xp.angle(a), a == b, a != a, a**b,
  )  # fmt: skip


def _few(a, b):
  return a * b, a / b, jnp.abs(a), jnp.sqrt(a), jnp.exp(a)


def _moves(a, b, c, d):
  return (
      lax.complex(d, -d), d * a, d.astype(a.dtype), jnp.conj(d + 0j), a.real,
      b.imag, jnp.where(d > 0, a, b), a[::-1], c.T, c[1:, 1::2],
      c.reshape(4, 2), jnp.concatenate([a, b]), a[(d[:3] > 0) * 3],
      a[jnp.array([0, 9])], jnp.pad(a, (1, 2)), jnp.stack([a, b]),
      a.at[1].set(b[0]).at[(d[:3] < 0) * 2].add(3j),
      lax.dynamic_slice(a, ((d[0] > 0) * 3,), (2,)), jnp.tile(a, 2),
  )  # fmt: skip


def _sums(a, b, c, d):
  inverses = lax.rsqrt(a), jax.nn.sigmoid(b), d / a
  return (
      c.sum(1), jnp.cumsum(c, 1), a.mean(), jnp.prod(a), jnp.linalg.norm(c),
      c @ c.T, jnp.vdot(a, b), c[:, :2, None] * a, inverses,
      jnp.cumprod(a), lax.cumprod(c, 1, reverse=True), c[:0].prod(0),
  )  # fmt: skip


def _loops(a, b, c, d):
  step = lambda s, x: (s * a + x, (jnp.abs(s), s))
  grown = lambda s: (s[0] * b[0] + a, s[1] + 1)
  short = lambda s: (jnp.abs(s[0][0]) < 9) & (s[1] < 9)
  inner = lambda s: lax.fori_loop(0, 2, lambda _, s: s * s + 0.1j, s * 0.9)
  until = lambda s: lax.while_loop(
      lambda s: jnp.abs(s) < 1, lambda s: 2 * inner(s), s
  )
  return (
      lax.scan(step, 0 * a, jnp.resize(c, (3, 6))),
      lax.while_loop(short, grown, (a, 0)),
      lax.cond(d[0] > 0, lambda a: a * 2, jnp.conj, a),
      jax.vmap(until)(1 + 0.1 * a / jnp.abs(a)),
  )


def _derivatives(a, b, c, d):
  loss = lambda a, d: jnp.abs(jnp.tanh(a * d).sum()) ** 2
  return jax.grad(loss, (0, 1))(a, d), jax.jvp(jnp.sqrt, (a,), (b,))


def _numbers(dtype, *shape, scale=1):
  rng = np.random.default_rng(0)
  parts = rng.normal(scale=scale, size=(2, *shape))
  return (parts[0] + 1j * parts[1]).astype(dtype)


class ComplexTest(parameterized.TestCase):

  @parameterized.product(
      dtype=("complex64", "complex128") if THOROUGH else ("complex64",),
      scale=(1, 1e-2, 1e2),
  )
  def test_functions(self, dtype, scale):
    """The error of each number is small beside its absolute value."""
    a, b = _numbers(dtype, 500, 6, scale=scale), _numbers(dtype, 500, 6)[::-1]
    with jax.enable_x64(dtype == "complex128"):
      found = jax.vmap(compile(_functions, strict=True))(a, b)
    with np.errstate(all="ignore"):
      expected = _functions(*(x.astype("complex256") for x in (a, b)), np)
    limits = np.finfo(dtype)
    for i, (got, want) in enumerate(zip(found, expected, strict=True)):
      got = np.asarray(got)
      if got.dtype == bool:
        np.testing.assert_array_equal(got, want)
        continue
      self.assertIn(got.dtype, (limits.dtype, np.dtype(dtype)))
      size = np.abs(want)
      # Without what the dtype does not have.
      kept = (size > 100 * limits.tiny) & (size < limits.max / 100)
      error = np.abs(got[kept] - want[kept]) / size[kept]
      # A power, the last one, multiplies the error of a logarithm.
      most = 400 if i == len(found) - 1 else 8
      self.assertLess(
          error.max(initial=0), most * limits.eps / 2, f"result {i}"
      )

  @parameterized.product(
      function=(_moves, _sums, _loops, _derivatives),
      rows=(1, 20) if THOROUGH else (20,),
  )
  def test_against_jax(self, function, rows):
    a, b, c = (_numbers("complex64", rows, *x) for x in ((6,), (6,), (2, 4)))
    args = a, b, c, a.imag - b.real[:, ::-1]
    found = jax.jit(jax.vmap(compile(function, strict=True)))(*args)
    expected = jax.jit(jax.vmap(function))(*args)
    # Sums of few terms.
    close = lambda x, y: np.testing.assert_allclose(x, y, 1e-4, 1e-5)
    jax.tree.map(close, found, expected)
    kinds = lambda x: jax.tree.map(lambda x: x.dtype, x)
    self.assertEqual(kinds(found), kinds(expected))

  def test_bits_do_not_depend_on_rows(self):
    a, b = _numbers("complex64", 64, 6), _numbers("complex64", 64, 6)[::-1]
    function = compile(_functions if THOROUGH else _few, strict=True)
    together = jax.vmap(function)(a, b)
    alone = function(a[5], b[5])
    same = lambda x, y: np.testing.assert_array_equal(np.asarray(x)[5], y)
    jax.tree.map(same, together, alone)

  def test_no_square_overflows(self):
    a = np.full(3, 3e30 + 4e30j, np.complex64)
    function = lambda a: (a / a, jnp.abs(a), jnp.sqrt(a), 1 / a)
    found = compile(function, strict=True)(a)
    expected = [1, 5e30, 2e15 + 1e15j, (0.12 - 0.16j) * 1e-30]
    for got, want in zip(found, expected, strict=True):
      np.testing.assert_allclose(got, np.full(3, want), 1e-6)

  def test_zeros_and_infinities(self):
    inf = np.inf
    a = np.array([0, complex(inf, 0), complex(0, inf), complex(-inf, 0)])
    a = a.astype(np.complex64)
    function = lambda a: (jnp.abs(a), jnp.sqrt(a), jnp.exp(a), a / 0j)
    size, root, power, quotient = compile(function, strict=True)(a)
    np.testing.assert_array_equal(size, [0, inf, inf, inf])
    np.testing.assert_array_equal(root.real, [0, inf, inf, 0])
    np.testing.assert_array_equal(root.imag, [0, 0, inf, inf])
    np.testing.assert_array_equal(power[np.array([0, 1, 3])], [1, inf, 0])
    np.testing.assert_array_equal(np.isnan(quotient), [True, True, True, True])

  def test_what_overflows_inside(self):
    a = np.array([-100 + 1j, -100 - 2j, complex(np.inf, np.inf)], np.complex64)
    function = lambda a: (jax.nn.sigmoid(a), 1 / a, jnp.expm1(100 + 0 * a))
    sigmoid, inverse, power = compile(function, strict=True)(a)
    np.testing.assert_allclose(sigmoid[:2], [0, 0])
    np.testing.assert_allclose(inverse, [1 / a[0], 1 / a[1], 0], 1e-6)
    np.testing.assert_array_equal(power[:2], [np.inf, np.inf])


if __name__ == "__main__":
  absltest.main()
