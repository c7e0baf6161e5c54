# SPDX-License-Identifier: Apache-2.0
"""lu and lu_solve: their definitions, LAPACK's pivots, errors of solutions."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import matrices
import numpy as np
import scipy.linalg

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.linalg import lu_factor
from jax_ffi_ops.linalg import lu_solve
from jax_ffi_ops.linalg import solve


def _dominant(rng, shape):
  """Of each column, one element is larger than the others' sum."""
  x = rng.uniform(-1, 1, shape) / (2 * shape[-1])
  x += np.eye(shape[-1]) * rng.choice([-1, 1], shape[:-2] + shape[-1:] + (1,))
  return np.roll(x, 2, axis=-2)


class LuTest(testing.OpTest):
  case = Case(
      kit.ops_of(lu_factor)[0],
      [Operand((5, 5), values=_dominant)],
      # The condition number is at most (1 + 1 / 2) / (1 - 1 / 2).
      tolerance=3.0,
  )


def _factors(rng, shape):
  x = rng.uniform(-1, 1, shape) / (2 * shape[-1])
  return x + np.eye(shape[-1])


def _order(rng, shape):
  return rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)


class LuSolveTest(testing.OpTest):
  case = Case(
      kit.ops_of(lu_solve)[0],
      [
          Operand((5, 5), values=_factors),
          Operand((5,), np.int32, values=_order),
          Operand((5, 2)),
      ],
      attributes={"transpose": True, "conjugate": False},
      # Those of both triangles are at most 3.
      tolerance=9.0,
  )


def _triangles(lu):
  """Returns L and U of factors, in more digits."""
  lu = matrices.wide(lu)
  return np.tril(lu, -1) + np.eye(lu.shape[-1]), np.triu(lu)


def _order_of(pivots):
  """Returns which row of A each row of L U is."""
  order = np.arange(len(pivots))
  for i, other in enumerate(pivots):
    order[[i, other]] = order[[other, i]]
  return order


def _exact(seed, n, dtype, singular=False):
  """Returns matrices whose elimination rounds nothing, with equal pivots.

  A step has a pivot that is a power of two, and a column of L of 0, halves and
  ones (or also i); of ones only below the row that LAPACK exchanges. From the
  last step on, this makes each step's matrix of the next one's.
  """
  rng = np.random.default_rng([seed, n])
  is_complex = np.issubdtype(dtype, np.complexfloating)
  units = np.array([1, -1, 1j, -1j] if is_complex else [1.0, -1])
  found = np.empty((9, n, n), dtype)
  for x in found:
    for size in range(1, n + 1):
      step = x[n - size :, n - size :]
      step[0] = rng.integers(-3, 4, size) * rng.choice(units, size)
      step[0, 0] = rng.choice([1, 2, 4]) * rng.choice(units)
      exchanged = rng.integers(size)
      lower = rng.choice([0, 0.5, 1], size - 1) * rng.choice(units, size - 1)
      lower[:exchanged] = rng.choice([0, 0.5], exchanged)
      if singular and rng.integers(3) == 0:
        step[0, 0] = exchanged = 0
        lower[:] = 0
      step[1:, 1:] += np.outer(lower, step[0, 1:])
      step[1:, 0] = lower * step[0, 0]
      step[[0, exchanged]] = step[[exchanged, 0]]
  return found


def _by_lapack(a):
  return scipy.linalg.lapack.get_lapack_funcs("getrf", (a,))(a)


class FactorsTest(matrices.MatrixTest):

  def _check(self, a, lu, pivots, what):
    """Fails unless P A is L U, but for rounding errors.

    |P A - L U| <= gamma(n) |L| |U| (Higham, Accuracy and Stability of Numerical
    Algorithms, theorem 9.3). A column of L is multiplied by the reciprocal of
    its pivot, which is one more rounding.
    """
    n = a.shape[-1]
    for x, factors, own in zip(a, lu, pivots):
      lower, upper = _triangles(factors)
      error = np.abs(matrices.wide(x)[_order_of(own)] - lower @ upper)
      bound = matrices.rounding(n + 1, x.dtype) * np.abs(lower) @ np.abs(upper)
      bound += n * matrices.smallest(x.dtype)
      self.assert_within(error, bound, what)
      # No other element of its column has a larger |re| + |im|.
      size = np.abs(lower.real) + np.abs(lower.imag)
      most = 2 if np.iscomplexobj(x) else 1
      limit = most * (1 + matrices.rounding(n + 1, x.dtype))
      self.assert_within(size, np.full(size.shape, limit), what)

  @parameterized.product(dtype=matrices.DTYPES)
  def test_factors(self, dtype):
    for n in matrices.SIZES:
      names, found = zip(*matrices.kinds(n, dtype))
      a = np.stack(found)
      self.assert_runs_handler(lu_factor, a, n=n)
      lu, pivots = matrices.jit(lu_factor)(a)
      self.assertEqual(pivots.dtype, np.int32)
      for name, *x in zip(names, a, lu, pivots):
        self._check(*x, (n, name))

  @parameterized.product(dtype=matrices.SOME_DTYPES)
  def test_pivots(self, dtype):
    """As LAPACK's: of equal ones, the first. Nothing is rounded here."""
    for n in matrices.SIZES:
      exact = _exact(0, n, dtype)
      permutations = np.stack(
          [np.eye(n)[np.random.default_rng(i).permutation(n)] for i in range(4)]
      ).astype(dtype)
      equal = np.ones((1, n, n), dtype)
      a = np.concatenate([exact, permutations, equal])
      lu, pivots = matrices.jit(lu_factor)(a)
      for i, x in enumerate(a):
        wanted = _by_lapack(x)
        np.testing.assert_array_equal(lu[i], wanted[0])
        np.testing.assert_array_equal(pivots[i], wanted[1])

  @parameterized.product(dtype=matrices.SOME_DTYPES)
  def test_order(self, dtype):
    """Pivots, and the order that they leave, say the same."""
    op = kit.ops_of(lu_factor)[0]
    for n in (1, 2, 5, 16, 32):
      _, pivots, order = map(
          np.asarray, matrices.jit(op)(matrices.normal(3, (20, n, n), dtype))
      )
      for own, found in zip(pivots, order):
        np.testing.assert_array_equal(found, _order_of(own))

  @parameterized.product(dtype=matrices.SOME_DTYPES)
  def test_singular(self, dtype):
    """Factors of a matrix that has zeros for pivots, or equal rows."""
    for n in (2, 3, 4, 9, 32):
      a = _exact(1, n, dtype, singular=True)
      a[0] = 0
      lu, pivots = matrices.jit(lu_factor)(a)
      for x, *found in zip(a, lu, pivots):
        np.testing.assert_array_equal(found[0], _by_lapack(x)[0])
        np.testing.assert_array_equal(found[1], _by_lapack(x)[1])
      a = matrices.normal(16, a.shape, dtype)
      a[0, -1] = a[0, 0]
      a[1, :, n // 2] = 0
      a[2] = np.outer(a[2, 0], a[2, 1])
      self._check(a, *matrices.jit(lu_factor)(a), n)

  @parameterized.product(dtype=matrices.SOME_DTYPES)
  def test_not_finite(self, dtype):
    """NaN and infinity stay in their matrix."""
    for n in (1, 2, 3, 4, 9):
      a = matrices.normal(4, (17, n, n), dtype)
      bad = a.copy()
      bad[2, n // 2, 0] = np.nan
      bad[5, -1, -1] = np.inf
      bad[6, 0, 0] = -np.inf
      bad[16] = np.nan
      found, wanted = matrices.jit(lu_factor)(bad), matrices.jit(lu_factor)(a)
      places = [2, 5, 6, 16]
      others = np.delete(np.arange(17), places)
      for x, y in zip(found, wanted):
        np.testing.assert_array_equal(x[others], y[others])
      lu, pivots = map(np.asarray, found)
      self.assertFalse(np.any(np.all(np.isfinite(lu[places]), axis=(1, 2))))
      self.assertTrue(np.all((pivots >= 0) & (pivots < n)))

  @parameterized.product(dtype=matrices.DTYPES)
  def test_empty(self, dtype):
    for shape in ((0, 3, 3), (2, 0, 0), (0, 0), (2, 0, 33, 33)):
      lu, pivots = lu_factor(np.zeros(shape, dtype))
      self.assertEqual((lu.shape, lu.dtype), (shape, dtype))
      self.assertEqual((pivots.shape, pivots.dtype), (shape[:-1], np.int32))

  @parameterized.product(dtype=matrices.SOME_DTYPES, n=(2, 5, 16))
  def test_threads_and_lanes_change_nothing(self, dtype, n):
    """A matrix has the same bits alone, and in any place of a batch."""
    a = matrices.normal(5, (1009, n, n), dtype)
    found = matrices.jit(lu_factor)(a)
    back = matrices.jit(lu_factor)(a[::-1])
    for x, y in zip(found, back):
      np.testing.assert_array_equal(x, y[::-1])
    for i in (0, 7, 1007, 1008):
      for x, y in zip(found, matrices.jit(lu_factor)(a[i])):
        np.testing.assert_array_equal(x[i], y)

  @parameterized.product(dtype=(np.float64, np.complex128))
  def test_gradients(self, dtype):
    """Both modes, and the second derivative, as jax's lu has them."""
    for n in (1, 5):
      rng = np.random.default_rng(n)
      a = _dominant(rng, (2, n, n)).astype(dtype)
      da, dl = (matrices.normal(i, a.shape, dtype) for i in (6, 7))
      results = []
      for factor in (
          lambda a: lu_factor(a)[0],
          lambda a: jax.lax.linalg.lu(a)[0],
      ):
        push = lambda a, f=factor: jax.jvp(f, (a,), (da,))[1]
        pull = lambda a, f=factor: jax.vjp(f, a)[1](dl)[0]
        over = lambda a, f=pull: jax.jvp(f, (a,), (da,))[1]
        results.append(
            matrices.jit(lambda a, fs=(push, pull, over): [f(a) for f in fs])(a)
        )
      for x, y in zip(*results):
        scale = max(1, np.max(np.abs(y)))  # Of one row, all are 0.
        np.testing.assert_allclose(x, y, 1e-11, 1e-11 * scale)


class SystemsTest(matrices.MatrixTest):

  def _check(self, a, b, x, what):
    """Fails unless A x is b, but for rounding errors.

    (A + E) x = b with |E| <= gamma(3 n) |L| |U| (Higham, Accuracy and Stability
    of Numerical Algorithms, theorem 9.4). Three quotients are products with
    rounded reciprocals. L and U are of LAPACK, in this precision.
    """
    n = a.shape[-1]
    roundings = matrices.rounding(3 * n + 3, x.dtype)
    for each, rhs, found in zip(a, b, x):
      order, lower, upper = scipy.linalg.lu(each, p_indices=True)
      size = (np.abs(lower) @ np.abs(upper))[order].astype(np.longdouble)
      found = matrices.wide(found)
      error = np.abs(matrices.wide(each) @ found - rhs)
      bound = roundings * size @ np.abs(found)
      bound += 4 * n * matrices.smallest(x.dtype) * (1 + np.abs(found).max())
      self.assert_within(error, bound, what)

  @parameterized.product(dtype=matrices.DTYPES)
  def test_solve(self, dtype):
    for n in matrices.SIZES:
      names, found = zip(*matrices.kinds(n, dtype))
      a = np.stack(found)
      b = matrices.normal(1, (*a.shape[:-1], 1 + n % 2), dtype)
      self.assert_runs_handler(solve, a, b, n=n)
      solutions = matrices.jit(solve)(a, b)
      lu, _ = matrices.jit(lu_factor)(a)
      have_zero = np.any(np.diagonal(lu, axis1=-2, axis2=-1) == 0, axis=-1)
      for name, is_zero, *x in zip(names, have_zero, a, b, solutions):
        if name in ("Hilbert's", "nearly singular"):
          if n > 8:
            continue  # The last pivot is a rounding error alone, or 0.
          # Without fused operations, it may be 0 for fewer rows, too.
          are_finite = np.all(np.isfinite(x[-1][is_zero]), axis=(-2, -1))
          self.assertFalse(np.any(are_finite), (n, name))
          x = [each[~is_zero] for each in x]
        self._check(*x, (n, name))

  @parameterized.product(dtype=matrices.SOME_DTYPES, trans=(0, 1, 2))
  def test_factored(self, dtype, trans):
    """Each operator, with the factors that are given."""
    run = matrices.jit(functools.partial(lu_solve, trans=trans))
    for i, n in enumerate(matrices.SIZES[trans::3]):
      k = (1, 2, 5)[i % 3]
      a = matrices.normal(8, (5, n, n), dtype)
      b = matrices.normal(9, (5, n, k), dtype)
      factors = matrices.jit(lu_factor)(a)
      solutions = matrices.wide(run(factors, b))
      for lu, pivots, rhs, x in zip(*map(np.asarray, factors), b, solutions):
        inverse = np.argsort(_order_of(pivots))
        lower, upper = _triangles(lu)
        operator = (lower @ upper)[inverse]
        size = (np.abs(lower) @ np.abs(upper))[inverse]
        if trans:
          size = size.T
          operator = operator.T if trans == 1 else matrices.adjoint(operator)
        error = np.abs(operator @ x - rhs)
        bound = matrices.rounding(2 * n + 2, dtype) * size @ np.abs(x)
        self.assert_within(error, bound, (n, k))

  @parameterized.product(dtype=matrices.SOME_DTYPES)
  def test_singular(self, dtype):
    """Not finite, as jax's; systems of other lanes do not change."""
    for n in (1, 2, 3, 4, 9):
      a = matrices.normal(10, (17, n, n), dtype)
      b = matrices.normal(11, (17, n, 2), dtype)
      bad, places = a.copy(), [0, 3, 7, 16]
      bad[0] = 0
      bad[3, n // 2] = 0
      bad[7, 0, 0] = np.nan
      bad[16, :, -1] = 0
      found, wanted = matrices.jit(solve)(bad, b), matrices.jit(solve)(a, b)
      self.assertFalse(
          np.any(np.all(np.isfinite(found[np.array(places)]), axis=(1, 2)))
      )
      others = np.delete(np.arange(17), places)
      np.testing.assert_array_equal(found[others], wanted[others])
      bad = b.copy()
      bad[5, 0, 1] = np.inf
      bad[6, -1, 0] = np.nan
      found = matrices.jit(solve)(a, bad)
      np.testing.assert_array_equal(found[5, :, 0], wanted[5, :, 0])
      np.testing.assert_array_equal(found[6, :, 1], wanted[6, :, 1])
      self.assertFalse(np.any(np.isfinite(found[6, :, 0])))
      others = np.delete(np.arange(17), [5, 6])
      np.testing.assert_array_equal(found[others], wanted[others])

  def test_signs_of_infinities(self):
    """x / 0 is what jax has."""
    a = np.array([[[0.0]], [[-0.0]], [[0.0]]])
    b = np.array([[[1.0]], [[1.0]], [[0.0]]])
    with kit.using("reference"):
      wanted = matrices.jit(solve)(a, b)
    np.testing.assert_array_equal(matrices.jit(solve)(a, b), wanted)

  @parameterized.product(dtype=matrices.SOME_DTYPES, n=(2, 5, 16), k=(1, 3))
  def test_threads_and_lanes_change_nothing(self, dtype, n, k):
    a = matrices.normal(12, (509, n, n), dtype)
    b = matrices.normal(13, (509, n, k), dtype)
    x = matrices.jit(solve)(a, b)
    np.testing.assert_array_equal(
        matrices.jit(solve)(a[::-1], b[::-1])[::-1], x
    )
    for i in (0, 7, 507, 508):
      np.testing.assert_array_equal(matrices.jit(solve)(a[i], b[i]), x[i])

  @parameterized.product(dtype=matrices.SOME_DTYPES)
  def test_batches_of_one_operand(self, dtype):
    """Broadcast, or by vmap; neither operand is copied before it is used."""
    a = matrices.normal(14, (3, 1, 6, 6), dtype)
    b = matrices.normal(15, (4, 6, 2), dtype)
    x = matrices.jit(solve)(a, b)
    self.assertEqual(x.shape, (3, 4, 6, 2))
    for i, j in np.ndindex(3, 4):
      np.testing.assert_array_equal(x[i, j], matrices.jit(solve)(a[i, 0], b[j]))
    found = matrices.jit(jax.vmap(solve, (None, 0)))(a[1, 0], b)
    np.testing.assert_array_equal(found, x[1])
    found = matrices.jit(jax.vmap(solve, (0, None)))(a[:, 0], b[2])
    np.testing.assert_array_equal(found, x[:, 2])
    run = matrices.jit(jax.vmap(lu_solve, (None, 1), 1))
    found = run(matrices.jit(lu_factor)(a[2, 0]), np.moveaxis(b, 0, 1))
    np.testing.assert_array_equal(found, np.moveaxis(x[2], 0, 1))
    # Factors with fewer axes than right-hand sides.
    found = matrices.jit(lu_solve)(matrices.jit(lu_factor)(a[:, 0]), b[:, None])
    np.testing.assert_array_equal(found, np.swapaxes(x, 0, 1))

  @parameterized.product(dtype=matrices.DTYPES)
  def test_empty(self, dtype):
    for batch, n, k in (((0,), 3, 2), ((2,), 0, 2), ((2,), 3, 0), ((), 0, 0)):
      a = np.broadcast_to(np.eye(n, dtype=dtype), (*batch, n, n))
      x = solve(a, np.ones((*batch, n, k), dtype))
      self.assertEqual((x.shape, x.dtype), ((*batch, n, k), dtype))


if __name__ == "__main__":
  absltest.main()
