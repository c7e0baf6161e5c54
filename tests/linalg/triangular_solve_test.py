# SPDX-License-Identifier: Apache-2.0
"""triangular_solve: its definition, and errors of its solutions."""

import functools
import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import matrices
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.linalg import solve_triangular

# lower, trans, unit_diagonal
_FORMS = tuple(itertools.product((True, False), (0, 1, 2), (False, True)))


def _dominant(rng, shape):
  x = rng.uniform(-1, 1, shape) / (2 * shape[-1])
  diagonal = rng.choice([-1, 1], shape[:-1] + (1,))
  return x + np.eye(shape[-1]) * diagonal


class TriangularSolveTest(testing.OpTest):
  case = Case(
      kit.ops_of(solve_triangular)[0],
      [Operand((5, 5), values=_dominant), Operand((5, 2))],
      attributes={
          "lower": True,
          "transpose": True,
          "conjugate": False,
          "unit_diagonal": False,
      },
      # The condition number is at most (1 + 1 / 2) / (1 - 1 / 2).
      tolerance=3.0,
  )


def _operator(a, lower, trans, unit_diagonal):
  """Returns the matrix that `a` stands for, in more digits."""
  a = matrices.wide(np.tril(a) if lower else np.triu(a))
  if unit_diagonal:
    i = np.arange(a.shape[-1])
    a[..., i, i] = 1
  return (a, np.swapaxes(a, -1, -2), matrices.adjoint(a))[trans]


@functools.cache
def _solver(lower, trans, unit_diagonal):
  return jax.jit(
      functools.partial(
          solve_triangular,
          trans=trans,
          lower=lower,
          unit_diagonal=unit_diagonal,
      )
  )


def _draw(n, dtype, form=(True, 0, False)):
  """Triangles of moderate condition; ones of an own diagonal are weaker."""
  a = matrices.normal(0, (7, n, n), dtype) / np.sqrt(n + 1).astype(dtype)
  i = np.arange(n)
  a[:, i, i] = np.sign(a[:, i, i].real) * (2 + np.abs(a[:, i, i]))
  return (a / 4).astype(dtype) if form[2] else a


class SystemsTest(matrices.MatrixTest):

  def _check(self, a, b, x, form, what):
    """Fails unless T x is b, but for rounding errors.

    (T + E) x = b with |E| <= gamma(n) |T| (Higham, Accuracy and Stability of
    Numerical Algorithms, theorem 8.5). A quotient is a product with a rounded
    reciprocal.
    """
    n = a.shape[-1]
    t, x = _operator(a, *form), matrices.wide(x)
    error = np.abs(t @ x - b)
    bound = matrices.rounding(n + 1, b.dtype) * np.abs(t) @ np.abs(x)
    bound += 4 * n * matrices.smallest(b.dtype)
    self.assert_within(error, bound, what)

  @parameterized.product(dtype=matrices.DTYPES)
  def test_sizes(self, dtype):
    for i, n in enumerate(matrices.SIZES):
      for form in (_FORMS[i % 12], _FORMS[(5 * i + 7) % 12]):
        run, a = _solver(*form), _draw(n, dtype, form)
        k = 1 + i % 3
        b = matrices.normal(1, (7, n, k), dtype)
        self.assert_runs_handler(run, a, b, n=n)
        self._check(a, b, np.asarray(run(a, b)), form, (n, k, form))

  @parameterized.product(dtype=matrices.SOME_DTYPES, n=(3, 6))
  def test_forms(self, dtype, n):
    """What a form does not read is NaN here."""
    other = np.full((n, n), np.nan)
    for form in _FORMS:
      lower, _, unit = form
      a = _draw(n, dtype, form)
      unread = np.triu(other, 1 - unit) if lower else np.tril(other, unit - 1)
      b = matrices.normal(2, (7, n, 3), dtype)
      x = np.asarray(_solver(*form)((a + unread).astype(dtype), b))
      self._check(a, b, x, form, form)

  @parameterized.product(dtype=matrices.DTYPES)
  def test_kinds(self, dtype):
    """Triangles of LU factors, where they are of graded rows or columns."""
    for n in (2, 4, 9, 32):
      for name, a in matrices.kinds(n, dtype):
        if name in ("random", "nearly singular", "Hilbert's") and n > 9:
          continue  # A triangle of such numbers has solutions of any size.
        for form in ((True, 0, False), (False, 2, False)):
          i = np.arange(n)
          full = a.copy()
          full[:, i, i] *= 4
          b = matrices.normal(3, (3, n, 2), dtype)
          if name not in ("identity", "Hilbert's"):
            b = np.abs(full).max(-1, keepdims=True).astype(dtype) * b
          x = np.asarray(_solver(*form)(full, b))
          finite = np.all(np.isfinite(x), axis=(1, 2))
          self._check(full[finite], b[finite], x[finite], form, (n, name))
          if name != "columns of other scales" and n < 9:
            self.assertTrue(np.all(finite), (n, name))

  @parameterized.product(dtype=matrices.DTYPES)
  def test_singular(self, dtype):
    """Zeros of a diagonal, NaN and infinity stay in their system."""
    for n in (1, 3, 4, 9):
      a, b = _draw(n, dtype), matrices.normal(4, (7, n, 2), dtype)
      run = _solver(True, 0, False)
      wanted = np.asarray(run(a, b))
      bad, rhs = a.copy(), b.copy()
      bad[0, n // 2, n // 2] = 0
      bad[2, -1, 0] = np.nan
      rhs[4, 0, 0] = np.inf
      found = np.asarray(run(bad, rhs))
      with kit.using("reference"):
        jaxs = np.asarray(run(bad, rhs))
      np.testing.assert_array_equal(np.isfinite(found), np.isfinite(jaxs))
      np.testing.assert_array_equal(found[4, :, 1], wanted[4, :, 1])
      for i in (1, 3, 5, 6):
        np.testing.assert_array_equal(found[i], wanted[i])

  @parameterized.product(dtype=matrices.SOME_DTYPES, n=(3, 6, 17), k=(1, 4))
  def test_threads_and_lanes_change_nothing(self, dtype, n, k):
    a = np.tile(_draw(n, dtype), (73, 1, 1))[:509]
    b = matrices.normal(5, (509, n, k), dtype)
    run = _solver(False, 1, False)
    x = np.asarray(run(a, b))
    back = np.asarray(run(a[::-1], b[::-1]))
    np.testing.assert_array_equal(back[::-1], x)
    for i in (0, 7, 507, 508):
      np.testing.assert_array_equal(run(a[i], b[i]), x[i])

  @parameterized.product(dtype=matrices.DTYPES)
  def test_batches_of_one_operand(self, dtype):
    a, b = _draw(6, dtype)[:3, None], matrices.normal(6, (4, 6, 2), dtype)
    run = _solver(True, 2, False)
    x = np.asarray(run(a, b))
    self.assertEqual(x.shape, (3, 4, 6, 2))
    for i, j in np.ndindex(3, 4):
      np.testing.assert_array_equal(x[i, j], run(a[i, 0], b[j]))
    found = jax.jit(jax.vmap(run, (None, 0)))(a[1, 0], b)
    np.testing.assert_array_equal(found, x[1])
    found = jax.jit(jax.vmap(run, (0, None)))(a[:, 0], b[2])
    np.testing.assert_array_equal(found, x[:, 2])

  @parameterized.product(dtype=matrices.DTYPES)
  def test_gradients(self, dtype):
    """The backward handler of some forms, against jax's formula in float64."""
    exact = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    first = matrices.DTYPES.index(dtype)
    for i, form in list(enumerate(_FORMS))[first::4]:
      n = (1, 3, 6)[i % 3]
      a = _dominant(np.random.default_rng(n), (3, n, n)).astype(dtype)
      if exact is np.complex128:
        a += (1j * np.tril(np.full((n, n), 0.25 / n), -1)).astype(dtype)
      b, dx = (matrices.normal(i, (3, n, 2), dtype) for i in (7, 8))
      pull = lambda a, b, dx, f=_solver(*form): jax.vjp(f, a, b)[1](dx)
      found = matrices.jit(pull)(a, b, dx)
      with kit.using("reference"):
        wanted = matrices.jit(pull)(*(x.astype(exact) for x in (a, b, dx)))
      # Two systems of condition 3, and sums of two products.
      bound = matrices.rounding(2 * (n + 1) + 2, dtype) * 3**2
      for x, y in zip(found, wanted):
        limit = np.full(y.shape, bound * np.max(np.abs(y)))
        self.assert_within(np.abs(x - y), limit, (n, form))

  @parameterized.product(dtype=matrices.DTYPES)
  def test_empty(self, dtype):
    for batch, n, k in (((0,), 3, 2), ((2,), 0, 2), ((2,), 3, 0), ((), 0, 0)):
      a = np.broadcast_to(np.eye(n, dtype=dtype), (*batch, n, n))
      x = solve_triangular(a, np.ones((*batch, n, k), dtype))
      self.assertEqual((x.shape, x.dtype), ((*batch, n, k), dtype))


if __name__ == "__main__":
  absltest.main()
