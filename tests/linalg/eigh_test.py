# SPDX-License-Identifier: Apache-2.0
"""eigh and eigvalsh: what eigenvalues and eigenvectors are, and jax's results."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.linalg import eigh
from jax_ffi_ops.linalg import eigvalsh


def _separated(rng, shape):
  """Symmetric; eigenvalues are near 0, 4, 8, ..., vectors near the axes."""
  x = rng.uniform(-1, 1, shape) / shape[-1]
  return x + np.swapaxes(x, -1, -2) + np.diag(4.0 * np.arange(shape[-1]))


class EighTest(testing.OpTest):
  case = Case(
      kit.ops_of(eigh)[0],
      [Operand((4, 4), values=_separated)],
      attributes={"symmetrize": True},
      # Errors are relative to the largest eigenvalue.
      tolerance=16.0,
  )


def _draw(dtype, *shape, seed=0):
  x = np.random.default_rng([seed, *shape]).normal(size=shape)
  return ((x + np.swapaxes(x, -1, -2)) / 2).astype(dtype)


def _with_values(w, dtype):
  """Returns a full symmetric matrix with these eigenvalues."""
  q = np.linalg.qr(np.random.default_rng(len(w)).normal(size=(len(w),) * 2))[0]
  a = (q * w) @ q.T
  return ((a + a.T) / 2).astype(dtype)


def _kinds(n, dtype):
  """Yields symmetric matrices [n, n] that are hard in some way."""
  info = jnp.finfo(dtype)
  large = dtype(1e30 if dtype == np.float32 else 1e300)
  a, i = _draw(dtype, n, n), np.arange(n)
  grades = np.logspace(0, -15, n).astype(dtype)
  yield "random", a
  yield "large", a * large
  yield "small", a / large
  yield "near the smallest normal numbers", a * info.smallest_normal * 4
  yield "zero", np.zeros_like(a)
  yield "identity", np.eye(n, dtype=dtype)
  yield "minus ones", np.full_like(a, -1)
  yield "graded", a * grades[:, None] * grades
  yield "graded upward", (a * grades[:, None] * grades)[::-1, ::-1]
  yield "diagonal", np.diag(np.diagonal(a))
  yield "diagonal, graded", np.diag(grades * large)
  yield "tridiagonal", np.where(abs(i[:, None] - i) < 2, a, 0)
  # Wilkinson's: pairs of eigenvalues that differ by roundings.
  off = (abs(i[:, None] - i) == 1).astype(dtype)
  yield "Wilkinson's", off + np.diag(abs(i - (n - 1) / 2)).astype(dtype)
  yield "no diagonal", off
  yield "blocks", np.where(i[:, None] // 3 == i // 3, a, 0)
  is_first = np.maximum(i[:, None], i) < 2
  yield "tiny elements beside zeros", off * np.where(is_first, 1, info.eps**2)
  yield "rank 1", np.outer(a[0], a[0])
  yield "equal eigenvalues", _with_values(i // 2 - 1.0, dtype)
  yield "a cluster", _with_values(1 + i * float(info.eps), dtype)
  yield "singular", _with_values(np.where(i % 3, 0, i + 1.0), dtype)
  yield "wide spectrum", _with_values(np.logspace(0, -12, n), dtype)


class DecompositionTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))
    self.enter_context(devices.on_cpu())

  def _check(self, a, w, v, what):
    """Fails unless A = V diag(w) V^T, but for rounding errors.

    An element is in about n reflections and 2 n sweeps. Each of these is
    orthogonal but for a few roundings, which change A by as many times ε |A|.
    LAPACK's own tests allow 30 n ε |A|; here it is 8.
    """
    n, info = len(a), jnp.finfo(a.dtype)
    unit = 8 * n * np.longdouble(info.eps)
    wide = [x.astype(np.longdouble) for x in (a, w, v)]
    size = np.linalg.norm(wide[0])
    # XLA's threads flush subnormal numbers.
    bound = unit * size + n * np.longdouble(info.smallest_normal)
    residual = np.max(abs(wide[0] - wide[2] * wide[1] @ wide[2].T))
    self.assertLessEqual(residual, bound, what)
    angles = np.max(abs(np.eye(n) - wide[2].T @ wide[2]))
    self.assertLessEqual(angles, unit, what)
    # By Weyl's theorem, values are as near. NumPy's have errors, too.
    self.assertTrue(np.all(np.diff(w) >= 0), what)
    scale = np.max(abs(wide[0])) or np.longdouble(1)
    want = np.linalg.eigvalsh((wide[0] / scale).astype(np.float64)) * scale
    self.assertLessEqual(np.max(abs(wide[1] - want)), 2 * bound, what)

  def _check_signs(self, v, what):
    for x in v.T:
      first = np.argmax(abs(x) >= x.dtype.type(0.9) * np.max(abs(x)))
      self.assertGreater(x[first], 0, what)

  @parameterized.product(
      dtype=(np.float32, np.float64), n=(1, 2, 3, 4, 5, 8, 15, 32)
  )
  def test_decompositions(self, dtype, n):
    names, a = zip(*_kinds(n, dtype))
    w, v = (np.asarray(x) for x in eigh(np.stack(a)))
    values = np.asarray(eigvalsh(np.stack(a)))
    for i, name in enumerate(names):
      what = f"{name}, {n} rows"
      self._check(a[i], w[i], v[i], what)
      self._check(a[i], values[i], v[i], what)
      self._check_signs(v[i], what)

  @parameterized.parameters(np.float32, np.float64)
  def test_lanes_change_nothing(self, dtype):
    """A matrix has the same bits alone, and among others of any kind."""
    for n in (3, 6):
      a = np.stack([x for _, x in _kinds(n, dtype)])
      a[7, 0, 0] = np.nan
      together = [*eigh(a), eigvalsh(a)]
      for i in range(len(a)):
        alone = [*eigh(a[i]), eigvalsh(a[i])]
        for x, y in zip(together, alone):
          self.assertEqual(np.asarray(x[i]).tobytes(), np.asarray(y).tobytes())

  def test_elements_that_are_not_finite(self):
    for bad in (np.nan, np.inf, -np.inf):
      a = np.stack([_draw(np.float32, 5, 5, seed=i) for i in range(9)])
      a[4, 2, 2] = bad
      w, v = eigh(a)
      is_nan = np.arange(9) == 4
      for x in (w, v.reshape(9, -1)):
        np.testing.assert_array_equal(np.isnan(x).all(axis=1), is_nan)
        np.testing.assert_array_equal(np.isfinite(x).all(axis=1), ~is_nan)
      a = np.full((1, 1), bad, np.float32)
      for x, y in zip(eigh(a), jnp.linalg.eigh(a)):
        np.testing.assert_array_equal(x, y)

  def test_triangles(self):
    """Which elements are read."""
    a = _draw(np.float64, 3, 6, 6)
    w, v = eigh(a)
    for uplo, read in ((None, np.tril), ("L", np.tril), ("U", np.triu)):
      half = np.where(read(np.ones((6, 6))), a, np.nan)
      found = eigh(half, uplo, symmetrize_input=False)
      np.testing.assert_array_equal(found.eigenvalues, w)
      np.testing.assert_array_equal(found.eigenvectors, v)
      values = eigvalsh(half, uplo, symmetrize_input=False)
      np.testing.assert_allclose(values, w, rtol=1e-12)
    x = np.random.default_rng(0).normal(size=(6, 6))
    np.testing.assert_array_equal(
        eigh(x, "U").eigenvalues, eigh((x + x.T) / 2).eigenvalues
    )

  def test_calls_as_in_jax(self):
    """Dtypes, shapes, the type of the result; and what jax computes."""
    for a in (
        np.eye(3, dtype=np.int32),
        np.zeros((0, 0), np.float32),
        np.zeros((2, 0, 0)),
        np.zeros((0, 3, 3), np.float32),
        _draw(np.float32, 33, 33),
        np.eye(2, dtype=np.complex64),
        np.eye(2, dtype=np.float16),
    ):
      try:
        want = jnp.linalg.eigh(a)
      except Exception as error:  # pylint: disable=broad-exception-caught
        with self.assertRaisesRegex(type(error), ""):
          eigh(a)
        continue
      found = eigh(a)
      self.assertIs(type(found), type(want))
      for x, y in zip((*found, eigvalsh(a)), (*want, want[0])):
        self.assertEqual((x.shape, x.dtype), (y.shape, y.dtype))
    for wrong in (np.ones((2, 3)), np.ones(3), [[1.0]], "a"):
      with self.assertRaises(Exception) as ours:
        eigh(wrong)
      with self.assertRaises(Exception) as theirs:
        jnp.linalg.eigh(wrong)
      self.assertEqual(str(ours.exception), str(theirs.exception))
    with self.assertRaisesRegex(ValueError, "UPLO"):
      eigh(np.eye(2), "x")

  @parameterized.parameters((np.float64, 5, True), (np.float32, 4, False))
  def test_gradients(self, dtype, n, symmetrize):
    """Of a function that does not depend on signs: all modes, two orders."""
    rng = np.random.default_rng(0)
    values = np.arange(n) + rng.uniform(0, 0.3, (3, n))
    a = np.stack([_with_values(w, dtype) for w in values])
    b = rng.normal(size=(n, n)).astype(dtype)

    def derivatives(function):
      def loss(a):
        w, v = function(a, None, symmetrize)
        return jnp.sum(jnp.sin(w * np.arange(1, n + 1)) * ((b @ v) ** 2).sum(1))

      def along(a):
        return jax.jvp(loss, (a,), (a**2,))[1]

      return lambda a: (jax.grad(loss)(a), along(a), jax.grad(along)(a))

    found, want = (
        jax.jit(derivatives(function))(a)
        for function in (eigh, jnp.linalg.eigh)
    )
    if not symmetrize:
      # jax's second derivatives are those of the symmetric part all the same.
      found, want = (
          (*first, second + second.mT) for *first, second in (found, want)
      )
    for x, y in zip(found, want):
      bound = 1000 * np.max(abs(y)) * jnp.finfo(dtype).eps
      np.testing.assert_allclose(x, y, atol=bound, rtol=0)

  def test_gradients_of_values(self):
    a = _draw(np.float64, 3, 5, 5)
    for loss in (
        lambda f: lambda a: jnp.sum(jnp.sin(f(a))),
        lambda f: lambda a: jnp.sum(
            jax.grad(lambda a: jnp.sum(f(a) ** 3))(a) ** 2
        ),
    ):
      found, want = (
          jax.jit(jax.grad(loss(f)))(a) for f in (eigvalsh, jnp.linalg.eigvalsh)
      )
      np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)

  def test_equal_eigenvalues(self):
    """Derivatives of values are finite; others are not, as in jax."""
    a = np.diag([2.0, 2, 5])
    for loss in (
        lambda f: lambda a: jnp.sum(f(a)[0] ** 2),
        lambda f: lambda a: jnp.sum(f(a)[1][:, 2] ** 3),
        lambda f: lambda a: jnp.sum(f(a)[1] @ np.ones((3, 2)) * a[:, :2]),
    ):
      derivatives = jax.jit(
          lambda a: [
              mode(loss(f))(a)
              for mode in (jax.grad, jax.jacfwd)
              for f in (eigh, jnp.linalg.eigh)
          ]
      )
      finite = [np.isfinite(x) for x in derivatives(a)]
      np.testing.assert_array_equal(finite[::2], finite[1::2])
    np.testing.assert_allclose(
        jax.grad(lambda a: jnp.sum(eigvalsh(a) ** 2))(a), 2 * a, atol=1e-12
    )


if __name__ == "__main__":
  absltest.main()
