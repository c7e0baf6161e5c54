# SPDX-License-Identifier: Apache-2.0
"""cholesky: its definition, and errors of its factors."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import matrices
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.linalg import cholesky
from jax_ffi_ops.linalg import operands


def _definite(rng, shape):
  """Symmetric; eigenvalues are at least 1, and 4 at most by Gershgorin."""
  x = rng.uniform(-1, 1, shape) / (2 * shape[-1])
  return x + np.swapaxes(x, -1, -2) + 2.5 * np.eye(shape[-1])


class CholeskyTest(testing.OpTest):
  case = Case(
      kit.ops_of(cholesky)[0],
      [Operand((5, 5), values=_definite)],
      attributes={"symmetrize": True},
      # The condition number is at most 4.
      tolerance=4.0,
  )

  def targets_of(self, case):
    """The reference of a triangle has other gradients than the handler.

    They are those of newer versions of jax. `cholesky` makes them of the
    handler's; FactorsTest.test_gradients compares them.
    """
    targets = super().targets_of(case)
    if case.attributes["symmetrize"] or jax.__version_info__ < (0, 11, 2):
      return targets
    return [x for x in targets if not x.is_backward]


def _kinds(n, dtype):
  """Yields Hermitian matrices that are definite, [3, n, n]."""
  epsilon = jnp.finfo(dtype).eps
  for name, x in matrices.kinds(n, dtype):
    if name.startswith("rows"):
      continue
    # What is large in x stays below the largest number in x x^H.
    size = np.max(np.abs(x))
    x = matrices.wide(x) / size
    a = (x @ matrices.adjoint(x)) * size
    # Rounded factors exist if the smallest eigenvalue is large enough.
    trace = np.trace(a, axis1=-2, axis2=-1)[:, None, None]
    yield name, (a + 8 * n * epsilon * trace * np.eye(n)).astype(dtype)
  x = matrices.wide(matrices.normal(2, (3, n, n), dtype))
  a = x @ matrices.adjoint(x) + np.eye(n)
  grades = np.logspace(0, -15, n)
  yield "graded", (a * grades[:, None] * grades).astype(dtype)


class FactorsTest(matrices.MatrixTest):

  def _check(self, a, l, what):
    """Fails unless A is L L^H, but for rounding errors.

    |A - L L^H| <= gamma(n + 1) |L| |L^H| (Higham, Accuracy and Stability of
    Numerical Algorithms, theorem 10.3). A is the mean of a and a^H, which is
    rounded, and a column of L is multiplied by the reciprocal of its pivot.
    """
    n = a.shape[-1]
    a, size = matrices.wide(a), np.abs(matrices.wide(l))
    a = (a + matrices.adjoint(a)) / 2
    error = np.abs(a - matrices.wide(l) @ matrices.adjoint(matrices.wide(l)))
    bound = matrices.rounding(n + 3, l.dtype) * size @ matrices.adjoint(size)
    bound += n * matrices.smallest(l.dtype)
    self.assert_within(error, bound, what)
    np.testing.assert_array_equal(np.triu(l, 1), 0)
    diagonal = np.diagonal(l, axis1=-2, axis2=-1)
    self.assertTrue(np.all(diagonal.real > 0), what)
    np.testing.assert_array_equal(diagonal.imag, 0)

  @parameterized.product(dtype=matrices.DTYPES)
  def test_factors(self, dtype):
    for n in matrices.SIZES:
      names, found = zip(*_kinds(n, dtype))
      a = np.stack(found)
      factor = jax.jit(cholesky)
      self.assert_runs_handler(factor, a, n=n)
      for name, x, l in zip(names, a, np.asarray(factor(a))):
        self._check(x, l, (n, name))

  @parameterized.product(dtype=matrices.DTYPES)
  def test_what_is_read(self, dtype):
    """The lower triangle; or the mean of both, which is Hermitian."""
    for n in (2, 3, 4, 7):
      a = dict(_kinds(n, dtype))["random"]
      bad = a + np.triu(np.full((n, n), np.nan, a.real.dtype), 1)
      if np.iscomplexobj(a):
        bad = bad + 1j * np.eye(n, dtype=a.real.dtype)
      l = np.asarray(cholesky(bad.astype(dtype), symmetrize_input=False))
      self._check(a, l, n)
      skew = a + np.tril(np.ones((n, n)), -1) - np.triu(np.ones((n, n)), 1)
      l = np.asarray(cholesky(skew.astype(dtype)))
      self._check(skew.astype(dtype), l, n)
      upper = cholesky(skew.astype(dtype), upper=True)
      np.testing.assert_array_equal(upper, matrices.adjoint(l))

  @parameterized.product(dtype=matrices.DTYPES)
  def test_not_definite(self, dtype):
    """They are NaN, as jax's are, and change no matrix of another lane.

    Of a matrix with NaN, it depends on the build of LAPACK which elements of
    jax's factors are NaN. All of ours are.
    """
    for n in (1, 2, 3, 4, 9):
      a = np.concatenate([a for _, a in _kinds(n, dtype)][:6])[:17]
      bad = a.copy()
      bad[1] = 0
      bad[3, -1, -1] = -1
      bad[4] = 1  # Of rank 1.
      bad[4, -1, -1] = 0
      bad[6, n // 2, 0] = np.nan
      bad[8, 0, 0] = -np.inf
      bad[9, -1, -1] = np.nan
      with kit.using("reference"):
        wanted = np.asarray(jax.jit(cholesky)(bad))
      found = np.asarray(jax.jit(cholesky)(bad))
      finite = np.all(np.isfinite(bad), axis=(1, 2))
      np.testing.assert_array_equal(
          np.isnan(found[finite]), np.isnan(wanted[finite])
      )
      places = [1, 3, 4, 6, 8, 9]
      self.assertTrue(
          np.all(np.isnan(found[places][:, *np.tril_indices(n)])), n
      )
      self.assertTrue(np.all(np.triu(found, 1) == 0), n)
      others = np.delete(np.arange(len(a)), places)
      np.testing.assert_array_equal(
          found[others], np.asarray(jax.jit(cholesky)(a))[others]
      )

  def test_infinite(self):
    """What jax returns: of a pivot that is infinite, and of other elements."""
    for a in ([[np.inf]], [[1, np.inf], [np.inf, 2]], [[2, 1], [1, np.inf]]):
      a = np.array([a])
      with kit.using("reference"):
        wanted = np.asarray(jax.jit(cholesky)(a))
      np.testing.assert_array_equal(jax.jit(cholesky)(a), wanted)

  def test_subnormal(self):
    """XLA's threads take them for 0: jax's factors are NaN."""
    for dtype in (np.float32, np.float64):
      a = np.eye(3, dtype=dtype) * jnp.finfo(dtype).smallest_subnormal
      with kit.using("reference"):
        wanted = np.asarray(jax.jit(cholesky)(a))
      np.testing.assert_array_equal(jax.jit(cholesky)(a), wanted)

  @parameterized.product(dtype=matrices.DTYPES)
  def test_empty(self, dtype):
    for shape in ((0, 3, 3), (2, 0, 0), (0, 0), (2, 0, 33, 33)):
      l = cholesky(np.zeros(shape, dtype))
      self.assertEqual((l.shape, l.dtype), (shape, dtype))

  def test_python_and_handlers_agree_on_the_largest_size(self):
    def factor(n):
      a = np.eye(n, dtype=np.float32)
      return jax.ffi.ffi_call(
          "xla_ffi_ops_cholesky_fwd", jax.ShapeDtypeStruct(a.shape, a.dtype)
      )(a, symmetrize=np.bool_(True))

    np.testing.assert_array_equal(factor(operands.MOST), np.eye(operands.MOST))
    with self.assertRaisesRegex(Exception, f"at most {operands.MOST} rows"):
      jax.block_until_ready(factor(operands.MOST + 1))

  @parameterized.product(dtype=matrices.DTYPES, n=(2, 5, 16))
  def test_threads_and_lanes_change_nothing(self, dtype, n):
    """A matrix has the same bits alone, and in any place of a batch."""
    a = dict(_kinds(n, dtype))["random"]
    a = np.tile(a, (400, 1, 1))[:1009]
    a[::7] *= 3
    l = np.asarray(jax.jit(cholesky)(a))
    np.testing.assert_array_equal(jax.jit(cholesky)(a[::-1])[::-1], l)
    for i in (0, 7, 1007, 1008):
      np.testing.assert_array_equal(jax.jit(cholesky)(a[i]), l[i])

  @parameterized.product(dtype=matrices.DTYPES)
  def test_gradients(self, dtype):
    """The backward handler, against jax's formula in float64.

    If the input is not symmetrized, it depends on the version of jax which
    triangles have gradients.
    """
    exact = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    for n in (1, 6):
      a = _definite(np.random.default_rng(n), (3, n, n)).astype(dtype)
      if exact is np.complex128:
        skew = np.tril(np.full((n, n), 0.25 / n), -1)
        a = (a + 1j * (skew - skew.T)).astype(dtype)
      dl = matrices.normal(n, a.shape, dtype)
      for symmetrize in (True, False):
        found, wanted = (
            jax.jit(lambda a, dl, f=factor: jax.vjp(f, a)[1](dl)[0])(*operands)
            for factor, operands in (
                (
                    functools.partial(cholesky, symmetrize_input=symmetrize),
                    (a, dl),
                ),
                (
                    functools.partial(
                        jax.lax.linalg.cholesky, symmetrize_input=symmetrize
                    ),
                    (a.astype(exact), dl.astype(exact)),
                ),
            )
        )
        error = np.abs(found - wanted)
        # Each of 3 steps has n roundings, and factors of condition 2.
        bound = matrices.rounding(3 * n + 3, dtype) * 2**4
        size = np.max(np.abs(wanted))
        self.assert_within(error, np.full(a.shape, bound * size), n)


if __name__ == "__main__":
  absltest.main()
