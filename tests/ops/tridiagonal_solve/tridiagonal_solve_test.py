# SPDX-License-Identifier: Apache-2.0
"""tridiagonal_solve: its definition."""

import inspect

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import tridiagonal_solve
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.cases import transforms

_DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def _at_most_one(rng, shape):
  return rng.uniform(-1, 1, shape)


def _at_least_four(rng, shape):
  return rng.choice([-1, 1], shape) * rng.uniform(4, 8, shape)


class TridiagonalSolveTest(testing.OpTest):
  case = Case(
      tridiagonal_solve,
      [
          Operand((16,), values=_at_most_one),
          Operand((16,), values=_at_least_four),
          Operand((16,), values=_at_most_one),
          Operand((16, 3)),
      ],
      # The diagonal dominates: the condition number is at most (8 + 2) / (4 - 2).
      tolerance=5.0,
  )


def _dense(dl, d, du):
  """Returns the matrix of one system."""
  return np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)


class TridiagonalTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  def _check(self, dl, d, du, b, x):
    """Fails unless A x is b, but for rounding errors.

    x is the solution of (A + E) x = b with |E| <= 4 u |L| |U| (Higham, Accuracy
    and Stability of Numerical Algorithms, theorem 9.14). Pivots make each
    element of L at most 1, and each of the three of a row of U at most twice the
    largest of A. A row of L has two elements. Complex numbers have at most four
    times these errors (of products, and of Smith's quotients).
    """
    unit = jnp.finfo(x.dtype).eps / 2
    if np.iscomplexobj(x):
      unit *= 4
    for each in np.ndindex(x.shape[:-2]):
      matrix = _dense(dl[each], d[each], du[each])
      largest = np.max(np.abs(matrix), initial=0)
      wide = np.complex128 if np.iscomplexobj(x) else np.float64
      error = np.abs(matrix.astype(wide) @ x[each].astype(wide) - b[each])
      bound = 4 * unit * 2 * 3 * 2 * largest
      size = np.max(np.abs(x[each]), axis=0, initial=0)
      self.assertTrue(np.all(error <= 1.01 * bound * size), (each, error))

  def test_perturb_singular(self):
    """It is jax's, in those versions that have it."""
    one, b = np.ones((2, 4)), np.ones((2, 4, 3))
    operands = 0 * one, np.array([1.0, 1, 0, 1]) * one, 0 * one, b
    with self.subTest("False"):
      found = tridiagonal_solve(*operands, perturb_singular=False)
      self.assertTrue(np.all(np.isnan(found)))
    theirs = jax.lax.linalg.tridiagonal_solve
    if "perturb_singular" in inspect.signature(theirs).parameters:
      found = tridiagonal_solve(*operands, perturb_singular=True)
      np.testing.assert_array_equal(
          found, theirs(*operands, perturb_singular=True)
      )
      self.assertTrue(np.all(np.isfinite(found)))
    else:
      with self.assertRaises(TypeError):
        tridiagonal_solve(*operands, perturb_singular=True)

  def _operands(self, dtype, loops, n, k, seed=0):
    rng = np.random.default_rng(seed)

    def draw(*shape):
      x = rng.normal(size=(*loops, *shape))
      if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.normal(size=x.shape)
      return x.astype(dtype)

    return draw(n), draw(n), draw(n), draw(n, k)

  @parameterized.product(dtype=_DTYPES, k=(1, 3, 8, 19))
  def test_random_systems(self, dtype, k):
    """Of every size about that of vectors: pivots are exchanged in some."""
    solve = jax.jit(tridiagonal_solve)
    for n, loops in ((1, (9,)), (2, (3,)), (3, ()), (17, (2, 5)), (40, (8,))):
      operands = self._operands(dtype, loops, n, k, seed=n)
      self._check(*operands, np.asarray(solve(*operands)))

  @parameterized.product(dtype=_DTYPES, pivot=(0, 1e-5))
  def test_small_pivots(self, dtype, pivot):
    """As in [[0, 1], [1, 0]]: the largest of a column is not the diagonal."""
    for n in (2, 8, 30):
      one = np.ones((5, n), dtype)
      d = pivot * one
      b = self._operands(dtype, (5,), n, 2)[3]
      x = tridiagonal_solve(one, d, one, b)
      self._check(one, d, one, b, np.asarray(x))

  @parameterized.parameters(*_DTYPES)
  def test_singular_systems(self, dtype):
    """They have NaNs for results, and those in other lanes have none."""
    dl, d, du, b = self._operands(dtype, (16,), 9, 1)
    d[3] = dl[3] = du[3] = 0  # All of the matrix.
    d[5, -1] = dl[5, -1] = 0  # Its last row.
    d[7, 0] = dl[7, 1] = 0  # Its first column.
    x = np.asarray(tridiagonal_solve(dl, d, du, b))
    singular = [3, 5, 7]
    self.assertTrue(np.all(np.isnan(x[singular])))
    others = np.delete(np.arange(16), singular)
    self._check(*(y[others] for y in (dl, d, du, b, x)))

  def test_values_that_are_not_finite_stay_in_their_system(self):
    dl, d, du, b = self._operands(np.float32, (16,), 9, 2)
    d[3, 4] = np.nan
    b[5, 8, 1] = np.inf
    x = np.asarray(tridiagonal_solve(dl, d, du, b))
    self.assertTrue(np.all(np.isnan(x[3])))
    self.assertFalse(np.any(np.isfinite(x[5, :, 1])))
    others = np.delete(np.arange(16), [3, 5])
    self._check(*(y[others] for y in (dl, d, du, b, x)))
    self.assertTrue(np.all(np.isfinite(x[5, :, 0])))

  def test_corners_are_not_read(self):
    dl, d, du, b = self._operands(np.float64, (10,), 7, 2)
    x = tridiagonal_solve(dl, d, du, b)
    dl[:, 0] = du[:, -1] = np.nan
    np.testing.assert_array_equal(tridiagonal_solve(dl, d, du, b), x)

  @parameterized.parameters(np.float64, np.complex128)
  def test_gradients(self, dtype):
    """Of every operand, against the solution of the dense matrix."""

    def dense(dl, d, du, b):
      eye = lambda by: jnp.eye(d.shape[-1], k=by, dtype=d.dtype)
      matrix = d[..., None] * eye(0) + dl[..., None] * eye(-1)
      return jnp.linalg.solve(matrix + du[..., None] * eye(1), b)

    operands = self._operands(dtype, (3,), 6, 2)
    holomorphic = dtype == np.complex128
    loss = lambda f: lambda *xs: jnp.sum(jnp.sin(f(*xs)))
    for order in (jax.grad, transforms.grad_of_grad):
      got, expected = (
          jax.jit(order(loss(f), (0, 1, 2, 3), holomorphic=holomorphic))(
              *operands
          )
          for f in (tridiagonal_solve, dense)
      )
      for x, y in zip(got, expected):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-7 * np.max(abs(y)))

  def test_threads_and_lanes_change_nothing(self):
    """A system has the same bits alone and among others."""
    # Of one more than vectors have.
    dl, d, du, b = self._operands(np.float32, (513,), 33, 1)
    x = np.asarray(tridiagonal_solve(dl, d, du, b))
    for i in (0, 7, 8, 512):
      alone = tridiagonal_solve(dl[i], d[i], du[i], b[i])
      np.testing.assert_array_equal(alone, x[i])

  def test_batches_of_some_operands(self):
    dl, d, du, b = self._operands(np.float64, (), 12, 2)
    many = self._operands(np.float64, (7,), 12, 2)[3]
    solve = jax.vmap(tridiagonal_solve, (None, None, None, 0))
    x = np.asarray(solve(dl, d, du, many))
    for i in range(7):
      expected = tridiagonal_solve(dl, d, du, many[i])
      np.testing.assert_array_equal(x[i], expected)


if __name__ == "__main__":
  absltest.main()
