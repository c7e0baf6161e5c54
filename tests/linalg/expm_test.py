# SPDX-License-Identifier: Apache-2.0
"""expm: series in long double, and jax's results where those fail."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.linalg import expm

_DTYPES = (np.float32, np.float64)


def _small(rng, shape):
  return rng.uniform(-1, 1, shape) / shape[-1]


class ExpmTest(testing.OpTest):
  case = Case(
      kit.ops_of(expm)[0],
      [Operand((4, 4), values=_small)],
      attributes={"max_squarings": 16},
      # Some ten products, and the solution of a system.
      tolerance=16.0,
  )


def _series(a):
  """The exponential in long double: a series of a matrix of norm 1, squared."""
  a = a.astype(np.longdouble)
  norm = np.max(np.sum(np.abs(a), axis=-2), initial=0)
  squarings = max(0, int(np.ceil(np.log2(norm)))) if norm > 0 else 0
  a = a / np.longdouble(2) ** squarings
  found = term = np.broadcast_to(np.eye(a.shape[-1]), a.shape).astype(a.dtype)
  for i in range(1, 30):
    term = term @ a / i
    found = found + term
  for _ in range(squarings):
    found = found @ found
  return found


def _norm(x):
  return np.max(np.sum(np.abs(x), axis=-2), axis=-1, initial=0)


def _draw(dtype, *shape):
  return np.random.default_rng(shape).normal(size=shape).astype(dtype)


def _derivative(a, direction):
  """Returns a block of an exponential of twice as many rows."""
  n = len(a)
  block = np.block([[a, direction], [np.zeros_like(a), a]])
  return _series(block)[:n, n:]


def _limit(dtype):
  """Returns the largest norm of a matrix that is not squared."""
  return 3.925724783138660 if dtype == np.float32 else 5.371920351148152


def _condition(a):
  """Returns the condition number of the exponential, in Frobenius norms.

  It is |L| |A| / |e^A| for the derivative L, whose columns are derivatives.
  """
  columns = []
  for i, j in np.ndindex(*a.shape):
    direction = np.zeros_like(a)
    direction[i, j] = 1
    columns.append(_derivative(a, direction).ravel())
  derivative = np.linalg.norm(np.float64(columns), 2)
  return derivative * np.linalg.norm(a) / np.linalg.norm(_series(a))


def _of_norms(dtype):
  """Yields matrices of 4 rows and norms from 1e-3 to 1e3."""
  rng = np.random.default_rng(4)
  random = rng.normal(size=(4, 4))
  q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
  one, above = np.eye(4), np.triu(random, 1)
  for size in (1e-3, 0.3, 1, 3, 10, 30, 100, 1e3):
    scaled = lambda x, size=size: x * size / np.linalg.norm(x)
    yield "skew", size, scaled(random - random.T)
    yield "negative", size, scaled(-random @ random.T)
    yield "nilpotent", size, scaled(above)
    if size <= 100:  # Of larger ones, squarings lose digits: so do SciPy's.
      yield "defective", size, q @ (scaled(np.eye(4, k=1)) - one) @ q.T
    if size <= 30:  # The exponentials of others are not finite in float32.
      yield "random", size, scaled(random)
      yield "triangular", size, scaled(above + np.diag([1, -1, 0, 2]))


class ExponentialTestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))


class ExponentialTest(ExponentialTestCase):

  @parameterized.product(dtype=_DTYPES, n=(1, 4, 32))
  def test_random(self, dtype, n):
    """|X - e^A| <= n eps e^(2 |A|) or so: |A| is about 1 here, so 8 n eps."""
    a = (_draw(dtype, 9, n, n) / n).astype(dtype)
    found = np.asarray(expm(a))
    expected = _series(a)
    error = _norm(found - expected) / _norm(expected)
    self.assertLess(np.max(error), 8 * n * jnp.finfo(dtype).eps)

  @parameterized.product(dtype=_DTYPES, n=(1, 4, 32))
  def test_lanes(self, dtype, n):
    """A matrix has the same bits alone, and beside any of other squarings."""
    sizes = np.logspace(-2, 1.5, 17)[:, None, None] / n
    a = (_draw(dtype, 17, n, n) * sizes).astype(dtype)
    alone = np.stack([expm(each) for each in a])
    np.testing.assert_array_equal(expm(a), alone)

  @parameterized.product(dtype=_DTYPES, size=(1e-30, 1, 60))
  def test_normal_matrices(self, dtype, size):
    """Symmetric ones are well conditioned: squarings double the error."""
    a = _draw(dtype, 5, 6, 6)
    a = (a + np.swapaxes(a, 1, 2)).astype(np.float64)
    a = (a * size / np.linalg.norm(a, 2, (1, 2), keepdims=True)).astype(dtype)
    expected = _series(a)
    error = _norm(np.asarray(expm(a)) - expected) / _norm(expected)
    self.assertLess(np.max(error), 64 * (1 + size) * jnp.finfo(dtype).eps)

  @parameterized.parameters(*_DTYPES)
  def test_bounds(self, dtype):
    """|X - e^A| <= n epsilon condition(A) |e^A|, in Frobenius norms."""
    for name, size, a in _of_norms(dtype):
      a = a.astype(dtype)
      expected = _series(a)
      error = np.linalg.norm(np.asarray(expm(a)) - expected)
      bound = 4 * jnp.finfo(dtype).eps * max(1, _condition(a))
      self.assertLess(error, bound * np.linalg.norm(expected), (name, size))

  @parameterized.parameters(*_DTYPES)
  def test_special_matrices(self, dtype):
    nilpotent = np.array([[0, 3, 5], [0, 0, 7], [0, 0, 0]], dtype)
    with self.subTest("zero"):
      np.testing.assert_array_equal(expm(0 * nilpotent), np.eye(3))
    with self.subTest("nilpotent"):
      expected = np.array([[1, 3, 15.5], [0, 1, 7], [0, 0, 1]], dtype)
      np.testing.assert_allclose(
          expm(nilpotent), expected, atol=50 * jnp.finfo(dtype).eps
      )
    with self.subTest("diagonal"):
      d = np.array([-30.0, -1, 0, 2, 20], dtype)
      np.testing.assert_allclose(
          np.diagonal(expm(np.diag(d))), np.exp(d.astype(np.float64)),
          rtol=200 * jnp.finfo(dtype).eps,
      )  # fmt: skip
    with self.subTest("empty"):
      self.assertEqual(expm(np.zeros((2, 0, 0), dtype)).shape, (2, 0, 0))
      self.assertEqual(expm(np.zeros((0, 3, 3), dtype)).shape, (0, 3, 3))

  @parameterized.product(dtype=_DTYPES, most=(0,))
  def test_too_many_squarings(self, dtype, most):
    """As jax: NaN for those alone that need more squarings."""
    size = _limit(dtype) * 2.0 ** (most + 1)
    a = np.array([0.5, 0.99, 1.01, np.inf, np.nan, 0.3])[:, None, None]
    a = np.where(np.eye(3), -a * size, 0).astype(dtype)
    found = np.asarray(expm(a, max_squarings=most))
    expected = np.asarray(jax.scipy.linalg.expm(a, max_squarings=most))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    self.assertEqual(
        np.isnan(found[:, 0, 0]).tolist(), [False] * 2 + [True] * 3 + [False]
    )

  @parameterized.parameters(
      (np.float32, 1, 1e10),
      (np.float32, 32, 1e-20),
      (np.float64, 5, 1e10),
      (np.float64, 32, 1),
  )
  def test_gradients(self, dtype, n, size):
    """Blocks of exponentials, for cotangents of any size, of any squarings."""
    a = _draw(dtype, 3, n, n) / n * np.array([0.1, 1, 4])[:, None, None]
    a = a.astype(dtype)
    dy = _draw(dtype, n, 3, n).swapaxes(0, 1)
    dy[2, 0] = 0
    found = np.asarray(jax.vjp(expm, a)[1](dtype(size) * dy)[0]) / dtype(size)
    turned = a.swapaxes(1, 2).astype(np.float64)
    for x, each, direction in zip(found, turned, dy.astype(np.float64)):
      expected = _derivative(each, direction)
      error = np.linalg.norm(x - expected)
      bound = 8 * n * jnp.finfo(dtype).eps * np.exp(np.linalg.norm(each, 2))
      self.assertLessEqual(error, bound * np.linalg.norm(direction))

  def test_gradients_of_too_many_squarings(self):
    """They are NaN where the exponential is: by the sums of columns of A."""
    limit = 2 * _limit(np.float32)
    a = np.zeros((4, 3, 3), np.float32)
    a[0, 0], a[1, :, 0], a[2, 0, 0] = limit * 0.9, limit * 0.4, np.nan
    expected = np.isnan(jax.scipy.linalg.expm(a, max_squarings=0))
    self.assertEqual(expected[:, 0, 0].tolist(), [False, True, True, False])
    function = lambda a: expm(a, max_squarings=0)
    found = jax.vjp(function, a)[1](np.ones_like(a))[0]
    np.testing.assert_array_equal(np.isnan(found), expected)

  def test_left_to_jax(self):
    with self.subTest("complex"):
      a = np.array([[0, 1j * np.pi], [1j * np.pi, 0]])
      np.testing.assert_allclose(expm(a), -np.eye(2), atol=1e-14)
    with self.subTest("upper_triangular"):
      a = np.triu(_draw(np.float64, 4, 4))
      np.testing.assert_array_equal(
          expm(a, upper_triangular=True),
          jax.scipy.linalg.expm(a, upper_triangular=True),
      )
    with self.subTest("not square"), self.assertRaises(ValueError):
      expm(np.ones((3, 4)))


class MoreDerivativesTest(ExponentialTestCase):

  def test_gradients_without_handlers(self):
    """They are those of the installed jax."""
    a, dy = _draw(np.float64, 2, 5, 5), _draw(np.float64, 2, 5, 5)
    with kit.using("reference"):
      found, wanted = (
          jax.jit(lambda a, f=f: jax.vjp(f, a)[1](dy)[0])(a)
          for f in (expm, jax.scipy.linalg.expm)
      )
    np.testing.assert_array_equal(found, wanted)

  def test_second_derivatives(self):
    a = _draw(np.float64, 3, 3) / 3

    def hessian(f):
      return jax.jit(jax.hessian(lambda a: jnp.sum(jnp.sin(f(a)))))(a)

    np.testing.assert_allclose(
        hessian(expm), hessian(jax.scipy.linalg.expm), rtol=1e-10, atol=1e-10
    )


if __name__ == "__main__":
  absltest.main()
