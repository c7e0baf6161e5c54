# SPDX-License-Identifier: Apache-2.0
"""Compiled functions with factors of matrices, against jax."""

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


if __name__ == "__main__":
  absltest.main()
