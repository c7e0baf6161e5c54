# SPDX-License-Identifier: Apache-2.0
"""Compiled functions with products and factors of matrices."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH


def _positive(a):
  return a @ a.T + jnp.eye(len(a), dtype=a.dtype)


def _cholesky(a):
  return jnp.linalg.cholesky(_positive(a)), jnp.linalg.cholesky(-_positive(a))


def _lu(a):
  factors, pivots, order = lax.linalg.lu(a)
  return factors, pivots, order, jnp.linalg.slogdet(a), lax.linalg.lu(a[:, :2])


def _solve(a):
  b = a[:, :2] + 1
  triangular = jax.scipy.linalg.solve_triangular
  return (
      jnp.linalg.solve(_positive(a), b), jnp.linalg.inv(_positive(a)),
      triangular(_positive(a), b, lower=True),
      triangular(_positive(a), b, trans=1),
      triangular(_positive(a) / len(a), b, unit_diagonal=True),
      lax.linalg.triangular_solve(_positive(a), b.T),
  )  # fmt: skip


def _eigh(a):
  """What does not depend on signs of eigenvectors."""
  values, vectors = jnp.linalg.eigh(_positive(a))
  return values, vectors @ jnp.diag(jnp.log(values)) @ vectors.T


def _qr(a):
  """What does not depend on signs of rows."""
  q, r = jnp.linalg.qr(a[:, : max(2, len(a) // 2)])
  whole, _ = jnp.linalg.qr(a.T, mode="complete")
  wide, upper = jnp.linalg.qr(a[:2])
  square, _ = jnp.linalg.qr(_positive(a))
  return q @ r, square**2, q.T @ q, jnp.abs(r), whole @ whole.T, wide @ upper


def _reflectors(a):
  """Products with Q, whose signs are LAPACK's; as a fit of many numbers does."""
  tall = jnp.tile(a, (40 // len(a), 1)) * jnp.arange(1, len(a) + 1)
  found = []
  for x in (a, tall[:, :3]):
    raw, taus = jnp.linalg.qr(x, mode="raw")
    c = jnp.cos(jnp.arange(2 * len(x), dtype=x.dtype)).reshape(-1, 2)
    for left in (False, True):
      for transpose in (False, True):
        found.append(
            lax.linalg.ormqr(
                raw.T, taus, c if left else c.T, left=left, transpose=transpose
            )
        )
  return tuple(found)


def _svd(a):
  """What does not depend on signs of vectors."""
  tall, wide = a[:, : max(1, len(a) // 2)], a[: max(1, len(a) // 2)]
  found = [jnp.linalg.svd(a, compute_uv=False)]
  for x in (_positive(a), tall, wide) if THOROUGH else (tall,):
    for full in (False, True):
      u, s, vt = jnp.linalg.svd(x, full_matrices=full)
      k = len(s)
      found += [s, (u[:, :k] * s) @ vt[:k], u.T @ u, vt @ vt.T]
  return tuple(found)


_FUNCTIONS = {f.__name__: f for f in (_cholesky, _lu, _solve, _eigh, _qr, _svd)}
if THOROUGH and hasattr(lax.linalg, "ormqr"):  # Since jax 0.10.
  _FUNCTIONS["_reflectors"] = _reflectors


# Rows of a matrix, and how many: g++ takes a second or two for each.
_SIZES = ((2, 1), (5, 1), (5, 20), (32, 1)) if THOROUGH else ((5, 20),)
# One that iterates.
_ALONE = tuple(_FUNCTIONS) if THOROUGH else ("_eigh",)
_DIFFERENTIATED = ("_solve", "_eigh", "_qr") if THOROUGH else ("_solve",)


def _operands(rows, n):
  rng = np.random.default_rng(n)
  return np.float32(rng.normal(size=(rows, n, n)) / np.sqrt(n))


class MatricesTest(parameterized.TestCase):

  @parameterized.product(name=list(_FUNCTIONS), size=_SIZES)
  def test_values(self, name, size):
    n, rows = size
    a = _operands(rows, n)
    found = jax.vmap(compile(_FUNCTIONS[name], strict=True))(a)
    expected = jax.jit(jax.vmap(_FUNCTIONS[name]))(a)
    # Rounded to 2^-24, times up to 32 rows and small condition numbers.
    close = lambda x, y: np.testing.assert_allclose(x, y, 1e-3, 1e-3)
    jax.tree.map(close, found, expected)

  @parameterized.product(name=_ALONE)
  def test_bits_do_not_depend_on_rows(self, name):
    a = _operands(20, 5)
    function = compile(_FUNCTIONS[name], strict=True)
    same = lambda x, y: np.testing.assert_array_equal(np.asarray(x)[7], y)
    jax.tree.map(same, jax.vmap(function)(a), function(a[7]))

  @parameterized.product(name=_DIFFERENTIATED)
  def test_gradients_in_a_loop(self, name):
    def loss(a):
      step = lambda s, _: (0.5 * s + 0.1 * _FUNCTIONS[name](s)[1][:5, :5], None)
      return jnp.sin(lax.scan(step, a, None, length=3)[0]).sum()

    a = _operands(20, 5)
    found = jax.vmap(jax.grad(compile(loss, strict=True)))(a)
    expected = jax.jit(jax.vmap(jax.grad(loss)))(a)
    np.testing.assert_allclose(found, expected, 1e-3, 1e-3)


# Products of matrices in memory: of rows, of what rows share, and of both. The
# last ones have a batch, or several axes that are summed over.
_PRODUCTS = (
    ("ij,jk->ik", "ab"), ("ij,jk->ki", "ab"), ("ij,jk->ik", "ac"),
    ("ji,jk->ik", "cb"), ("ji,jk->ik", "cc"), ("ij,kj->ik", "aa"),
    ("kij,kjl->kil", "dd"), ("kij,kil->jl", "dd"), ("kij,lij->kl", "dd"),
)  # fmt: skip


def _products(a, b, c, d):
  named = dict(a=a, b=b, c=c, d=d)
  return [jnp.einsum(how, *map(named.get, names)) for how, names in _PRODUCTS]


class ProductsTest(parameterized.TestCase):

  def _operands(self, rows, dtype):
    rng = np.random.default_rng(rows)
    shapes = (rows, 9, 14), (rows, 14, 23), (14, 11), (rows, 5, 12, 12)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]

  @parameterized.product(
      rows=(1, 5, 20) if THOROUGH else (20,),
      dtype=(np.float32, np.float64) if THOROUGH else (np.float32,),
  )
  def test_values(self, rows, dtype):
    with jax.enable_x64(dtype == np.float64):
      operands = self._operands(rows, dtype)
      compiled = compile(_products, strict=True)
      found = jax.vmap(compiled, (0, 0, None, 0))(*operands)
      alone = compiled(*(x if x.ndim == 2 else x[-1] for x in operands))
    named = dict(zip("abcd", map(np.longdouble, operands)))
    for (how, names), got, one in zip(_PRODUCTS, found, alone, strict=True):
      np.testing.assert_array_equal(got[-1], one)
      x, y = ("" if n == "c" else "..." for n in names)
      (x_axes, y_axes), to = how.split("->")[0].split(","), how.split("->")[1]
      how = f"{x}{x_axes},{y}{y_axes}->{(x or y) and '...'}{to}"
      x, y = map(named.get, names)
      # Each of up to 144 terms is rounded once as it is added.
      bound = 72 * np.finfo(dtype).eps * np.einsum(how, abs(x), abs(y))
      error = abs(np.einsum(how, x, y) - np.asarray(got))
      self.assertTrue(np.all(error <= bound))


if __name__ == "__main__":
  absltest.main()
