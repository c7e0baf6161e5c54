# SPDX-License-Identifier: Apache-2.0
"""solve_banded: its definition, and SciPy's results."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from jax_ffi_ops import kit
from jax_ffi_ops import solve_banded
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.exactness.rounding import gamma

_DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
_BANDS = ((0, 0), (2, 1), (1, 3), (0, 2), (3, 0), (5, 4), (1, 1))


def _dominant(rng, shape):
  """Lower triangles whose first diagonal is larger than the others' sum."""
  ab = rng.uniform(-1, 1, shape) / max(1, shape[-2])
  ab[..., 0, :] = rng.choice([-1, 1], shape[:-2] + shape[-1:]) * 2
  return ab


class SolveBandedTest(testing.OpTest):
  case = Case(
      kit.ops_of(solve_banded)[0],
      [Operand((4, 16), values=_dominant), Operand((16, 3))],
      # The only one for which ab may have any number of rows.
      attributes={"upper": 0},
      # The condition number is at most (2 + 1) / (2 - 1).
      tolerance=3.0,
      empty_cores=False,
  )


def _dense(lower, upper, ab):
  """Returns the matrix of one system."""
  n = ab.shape[1]
  a = np.zeros((n, n), ab.dtype)
  for i in range(n):
    for j in range(max(0, i - lower), min(n, i + upper + 1)):
      a[i, j] = ab[upper + i - j, j]
  return a


def _factors(a):
  """Returns L, U and the order of rows, by partial pivoting in a's dtype."""
  u, order = a.copy(), np.arange(len(a))
  lower = np.eye(len(a), dtype=a.dtype)
  for i in range(len(a)):
    size = np.abs(u[i:, i].real) + np.abs(u[i:, i].imag)
    rows = [i, i + np.argmax(size)]
    u[rows], order[rows] = u[rows[::-1]], order[rows[::-1]]
    lower[rows, :i] = lower[rows[::-1], :i]
    lower[i + 1 :, i] = u[i + 1 :, i] / u[i, i]
    u[i + 1 :] -= np.outer(lower[i + 1 :, i], u[i])
  return lower, u, order


class BandedTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def _draw(self, dtype, *shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    if np.issubdtype(dtype, np.complexfloating):
      x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)

  def _check(self, bands, ab, b, x):
    """Fails unless A x is b, but for rounding errors.

    x is the solution of (A + E) x = b with |E| <= gamma(3 m) |L| |U| (Higham,
    Accuracy and Stability of Numerical Algorithms, theorem 9.4), where m is how
    many elements of a row of U there are. Rounding errors of complex numbers
    are at most four times as large (of products, and of Smith's quotients).
    """
    for each in np.ndindex(x.shape[:-2]):
      a = _dense(*bands, ab[each])
      lower, u, order = _factors(a)
      size = np.abs(lower) @ np.abs(u) @ np.abs(x[each])
      wide = np.clongdouble if np.iscomplexobj(a) else np.longdouble
      error = np.abs(a.astype(wide) @ x[each].astype(wide) - b[each])[order]
      roundings = 3 * (sum(bands) + 1) * (4 if np.iscomplexobj(a) else 1)
      # L and U, and the bound itself, are rounded, too.
      bound = 1.01 * gamma(roundings, x.real.dtype) * size
      self.assertTrue(np.all(error <= bound), (each, error, bound))

  @parameterized.parameters(*_DTYPES)
  def test_random_systems(self, dtype):
    """Rows are exchanged in nearly all steps."""
    for bands in _BANDS if dtype == np.float32 else _BANDS[1:3]:
      solve = jax.jit(lambda ab, b, bands=bands: solve_banded(bands, ab, b))
      # Of 40 rows, the last pivot may be 0 where products are rounded.
      for n, loops, k in ((1, (9,), 2), (3, (9,), 19), (20, (2, 9), 1)):
        ab = self._draw(dtype, *loops, sum(bands) + 1, n)
        b = self._draw(dtype, *loops, n, k)
        self._check(bands, ab, b, np.asarray(solve(ab, b)))

  def test_as_scipy(self):
    """Its arguments: which diagonal is where, vectors, integers, lists."""
    for bands in _BANDS:
      d = sum(bands) + 1
      ab = self._draw(np.float64, d, 9)
      ab[bands[1]] += 4 * d  # So that results differ by roundings alone.
      for b in (self._draw(np.float64, 9), self._draw(np.float64, 9, 3)):
        x, want = solve_banded(bands, ab, b), scipy.linalg.solve_banded(
            bands, ab, b
        )
        np.testing.assert_allclose(x, want, atol=4 * gamma(6 * d, np.float64))
    x = solve_banded((1, 0), [[2, 4], [2, 0]], [2, 6])
    np.testing.assert_array_equal(x, [1, 1])

  @parameterized.parameters(*_DTYPES)
  def test_small_pivots(self, dtype):
    """The diagonal is small, or zero, and most rows are exchanged."""
    for n, small in ((2, 0), (8, 1e-5), (30, 0)):
      ab, b = self._draw(dtype, 5, 6, n), self._draw(dtype, 5, n, 2)
      ab[:, 2] = small
      x = np.asarray(solve_banded((3, 2), ab, b))
      self._check((3, 2), ab, b, x)

  def test_the_first_of_equal_pivots(self):
    """As in LAPACK; with the other one, x[0] would be 1."""
    bands, b = (2, 1), np.array([1e20, 2])
    ab = np.array([[0, 1e20], [1, 1], [1, 0], [0, 0]])
    want = scipy.linalg.solve_banded(bands, ab, b)
    np.testing.assert_array_equal(want, [0, 1])
    for dtype in _DTYPES:
      for systems in (1, 9):
        x = solve_banded(
            bands,
            *(np.stack([x.astype(dtype)] * systems) for x in (ab, b[:, None])),
        )
        np.testing.assert_array_equal(x[..., 0], [want] * systems)

  @parameterized.parameters(*_DTYPES)
  def test_singular_systems(self, dtype):
    """They have NaNs for results, and those in other lanes have none."""
    for bands in ((2, 1), (0, 0), (0, 2), (2, 0)):
      ab, b = self._draw(dtype, 16, sum(bands) + 1, 9), self._draw(
          dtype, 16, 9, 1
      )
      ab[3] = 0
      # A row, and a column, of zeros: A[4, j] for all j, and A[i, 4].
      for j in range(max(0, 4 - bands[0]), 4 + bands[1] + 1):
        ab[5, bands[1] + 4 - j, j] = 0
      ab[7, :, 4] = 0
      x = np.asarray(solve_banded(bands, ab, b))
      singular = [3, 5, 7]
      self.assertTrue(np.all(np.isnan(x[singular])))
      others = np.delete(np.arange(16), singular)
      self._check(bands, ab[others], b[others], x[others])

  def test_values_that_are_not_finite_stay_in_their_system(self):
    ab, b = self._draw(np.float32, 16, 4, 9), self._draw(np.float32, 16, 9, 2)
    ab[3, 2, 4] = np.nan
    b[5, 8, 1] = np.inf
    x = np.asarray(solve_banded((2, 1), ab, b))
    self.assertTrue(np.all(np.isnan(x[3])))
    self.assertFalse(np.any(np.isfinite(x[5, :, 1])))
    others = np.delete(np.arange(16), [3, 5])
    self._check((2, 1), ab[others], b[others], x[others])
    self.assertTrue(np.all(np.isfinite(x[5, :, 0])))

  def test_arguments_without_effect(self):
    ab, b = np.array([[0, 1.0, 1], [4, 4, np.nan]]), np.ones(3)
    found = solve_banded((0, 1), ab, b, True, True, False)
    want = solve_banded((0, 1), ab, b)
    np.testing.assert_array_equal(found, want)
    self.assertTrue(np.all(np.isnan(found)))

  def test_what_is_outside_of_the_matrix_is_not_read(self):
    for bands, n in (((2, 1), 7), ((5, 4), 3), ((1, 1), 6)):
      d = sum(bands) + 1
      ab, b = self._draw(np.float64, 9, d, n), self._draw(np.float64, 9, n, 2)
      x = solve_banded(bands, ab, b)
      for r in range(d):
        rows = np.arange(n) + r - bands[1]
        ab[:, r, (rows < 0) | (rows >= n)] = np.nan
      np.testing.assert_array_equal(solve_banded(bands, ab, b), x)

  @parameterized.parameters(np.float64, np.complex128)
  def test_gradients(self, dtype):
    """Of both operands, against the solution of the dense matrix."""
    bands, n = (2, 1), 6

    def dense(ab, b):
      i, j = np.mgrid[:n, :n]
      row = bands[1] + i - j
      inside = (row >= 0) & (row < ab.shape[-2])
      a = jnp.where(inside, ab[:, np.clip(row, 0, ab.shape[-2] - 1), j], 0)
      return jnp.linalg.solve(a, b)

    operands = self._draw(dtype, 3, 4, n), self._draw(dtype, 3, n, 2)
    holomorphic = dtype == np.complex128
    loss = lambda f: lambda *xs: jnp.sum(jnp.sin(f(*xs)))
    ours = lambda ab, b: solve_banded(bands, ab, b)
    # The second derivatives have the first.
    order = jax.grad if holomorphic else transforms.grad_of_grad
    got, want = (
        jax.jit(order(loss(f), (0, 1), holomorphic=holomorphic))(*operands)
        for f in (ours, dense)
    )
    for x, y in zip(got, want):
      np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-7 * np.max(abs(y)))

  @parameterized.parameters(1, 13)
  def test_threads_and_lanes_change_nothing(self, k):
    """A system has the same bits alone and among others."""
    # One more than vectors have.
    ab, b = self._draw(np.float32, 513, 4, 33), self._draw(
        np.float32, 513, 33, k
    )
    x = np.asarray(solve_banded((1, 2), ab, b))
    for i in (0, 7, 8, 512):
      alone = solve_banded((1, 2), ab[i], b[i])
      np.testing.assert_array_equal(alone, x[i])

  def test_batches_of_some_operands(self):
    ab, many = self._draw(np.float64, 4, 12), self._draw(np.float64, 7, 12, 2)
    solve = lambda ab, b: solve_banded((1, 2), ab, b)
    x = np.asarray(jax.vmap(solve, (None, 0))(ab, many))
    for i in range(7):
      np.testing.assert_array_equal(x[i], solve(ab, many[i]))

  def test_definition_in_a_shard_map(self):
    """Its loops carry only what varies over the same axes."""
    ab, b = self._draw(np.float32, 2, 3, 12), self._draw(np.float32, 2, 12, 2)
    solve = SolveBandedTest.case.oracle.function
    mesh = jax.make_mesh((1,), ("x",), (jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("x")
    split = jax.shard_map(solve, mesh=mesh, in_specs=spec, out_specs=spec)
    split, solve = jax.jit(split), jax.jit(solve)
    np.testing.assert_allclose(split(ab, b)[0], solve(ab, b)[0], rtol=1e-5)

  def test_refusals(self):
    ab, b = np.ones((4, 6)), np.ones((6, 2))
    for bands, *operands in (
        ((1, 1), ab, b),
        ((-1, 4), ab, b),
        ((2, 1), ab[0], b),
        ((2, 1), ab, b[:5]),
        ((2, 1), ab, np.ones(())),
        ((2, 1), np.ones((2, 4, 6)), np.ones((3, 6, 2))),
    ):
      with self.assertRaisesRegex(ValueError, "solve_banded"):
        solve_banded(bands, *operands)
    for bands, *operands in (
        ((2.0, 1.0), ab, b),
        ((2, 1), ab > 0, b > 0),
        ((2, 1), None, b),
    ):
      with self.assertRaises(TypeError):
        solve_banded(bands, *operands)


if __name__ == "__main__":
  absltest.main()
