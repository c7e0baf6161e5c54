# SPDX-License-Identifier: Apache-2.0
"""svd, pinv and norms: the suite, LAPACK's bounds, and jax's derivatives."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import linalg
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH

_DTYPES = (np.float32, np.float64)
_SHAPES = ((1, 1), (2, 2), (6, 3), (3, 6), (20, 8), (32, 32))
if THOROUGH:
  _SHAPES += ((1, 3), (3, 1), (3, 3), (8, 8), (32, 4), (4, 32))


class SvdValuesTest(testing.OpTest):
  case = Case(kit.ops_of(linalg.norm)[0], [Operand((5, 3))], tolerance=8.0,
              empty_cores=False)  # fmt: skip


def _orthogonal(rng, n):
  return np.linalg.qr(rng.normal(size=(n, n)))[0]


def _matrices(m, n, dtype):
  """Yields names and matrices that are hard in some way."""
  rng = np.random.default_rng([m, n])
  k = min(m, n)
  # XLA takes subnormal numbers as 0. They are below any rounding here.
  far = 15 if dtype == np.float32 else 145
  random = lambda: rng.normal(size=(m, n))
  yield "random", random()
  yield "graded columns", random() * np.logspace(0, -2 * far, n)
  yield "graded rows", random() * np.logspace(0, -2 * far, m)[:, None]
  yield "zero", 0 * random()
  yield "identity", np.eye(m, n)
  yield "ones", np.ones((m, n))
  yield "rank 1", random()[:, :1] * random()[:1]
  yield "large", random() * 10.0 ** (2 * far)
  yield "small", random() * 10.0 ** (-2 * far)
  yield "diagonal", np.eye(m, n)[::-1] * np.logspace(0, -far, n)
  yield "tridiagonal", 2 * np.eye(m, n) + np.eye(m, n, 1) + np.eye(m, n, -1)
  yield "triangular", np.eye(m, n) - np.triu(np.ones((m, n)), 1)
  for name, s in (
      ("clusters", np.where(np.arange(k) < k // 2 + 1, 1, 1e-3)),
      ("equal", np.ones(k)),
      ("nearly singular", np.logspace(0, -14, k)),
  ):
    yield name, (_orthogonal(rng, m)[:, :k] * s) @ _orthogonal(rng, n)[:k]


def _off(q):
  """Returns how far columns are from being orthonormal."""
  q = np.asarray(q, np.float64)
  return np.max(np.abs(q.T @ q - np.eye(q.shape[1])))


def _with_derivatives(run, a, a_dot):
  """Returns results, a tangent, a gradient, and the tangent of that."""
  gradient = jax.grad(
      lambda a: sum(jnp.sum(x**3) for x in jax.tree.leaves(run(a)))
  )

  @jax.jit
  def all_of(a, a_dot):
    push = lambda f: jax.jvp(f, (a,), (a_dot,))[1]
    return run(a), push(run), gradient(a), push(gradient)

  return jax.tree.leaves(all_of(a, a_dot))


def _assert_close(found, wanted):
  for got, want in zip(found, wanted, strict=True):
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)


class BoundsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  @parameterized.product(dtype=_DTYPES, shape=_SHAPES)
  def test_bounds(self, dtype, shape):
    """In LAPACK's form, of norms that are scaled; its tests allow 30 or more.

    |A - U diag(s) V^T| and |s - exact| are at most c max(m, n) epsilon |A|, and
    so are the errors of orthogonal columns: each of a few sweeps adds a
    rounding to a number (Drmac and Veselic, 2008, section 3).
    """
    m, n = shape
    k = min(m, n)
    names, matrices = zip(*_matrices(m, n, dtype))
    a = np.stack(matrices).astype(dtype)
    bound = 8 * max(m, n) * np.finfo(dtype).eps
    values = np.asarray(linalg.svd(a, compute_uv=False), np.float64)
    for full in (False, True):
      u, s, vh = map(np.asarray, linalg.svd(a, full))
      for i, name in enumerate(names):
        size = np.float64(np.max(np.abs(a[i]))) or 1.0
        wide, s_i = (
            a[i].astype(np.float64) / size,
            np.float64(s[i]) / size,
        )
        norm = np.linalg.norm(wide, 2)
        found = (np.float64(u[i])[:, :k] * s_i) @ np.float64(vh[i])[:k]
        self.assertLessEqual(np.max(np.abs(found - wide)), bound * norm, name)
        exact = np.linalg.svd(wide, compute_uv=False)
        for got in (s_i, values[i] / size):
          self.assertLessEqual(np.max(np.abs(got - exact)), bound * norm, name)
          self.assertTrue(np.all(np.diff(got) <= 0) and got[-1] >= 0, name)
        self.assertLess(_off(u[i]), bound, name)
        self.assertLess(_off(vh[i].T), bound, name)

  @parameterized.product(dtype=_DTYPES, shape=((4, 4), (6, 3), (3, 6)))
  def test_signs(self, dtype, shape):
    """The largest number of each of the shorter vectors is positive."""
    a = np.random.default_rng(0).normal(size=(9, *shape)).astype(dtype)
    u, _, vh = map(np.asarray, linalg.svd(a, full_matrices=False))
    shorter = u.mT if shape[0] < shape[1] else vh
    for row in np.reshape(shorter, (-1, shorter.shape[-1])):
      self.assertGreater(row[np.argmax(np.abs(row))], 0)

  def test_numbers_that_are_not_finite(self):
    """Their matrices are NaN, and those in other lanes are not."""
    a = np.random.default_rng(1).normal(size=(16, 5, 3)).astype(np.float32)
    want = linalg.svd(a)
    bad = a.copy()
    bad[3, 2, 1], bad[7, 4, 2], bad[9, 0, 0] = np.nan, np.inf, -np.inf
    lost = np.isin(np.arange(16), (3, 7, 9))
    for got, good in zip(map(np.asarray, linalg.svd(bad)), want):
      np.testing.assert_array_equal(got[~lost], good[~lost])
      self.assertTrue(np.all(np.isnan(got[lost])))
    nan = jnp.linalg.svd(bad[3])
    self.assertTrue(all(np.all(np.isnan(x)) for x in nan))

  @parameterized.parameters(*_DTYPES)
  def test_lanes(self, dtype):
    """A matrix has the same bits alone, and beside any that take longer."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=(37, 5, 5)).astype(dtype)
    a[::2] = np.eye(5)
    a[1::4] *= np.logspace(0, -9, 5)
    a[3, :, 2:] = 0
    a[5] = np.diag([0, -2, 0, 5, -1])
    together = [np.asarray(x) for x in linalg.svd(a)]
    for i in range(37):
      for x, y in zip(together, linalg.svd(a[i])):
        self.assertEqual(np.asarray(x[i]).tobytes(), np.asarray(y).tobytes())

  @parameterized.product(shape=((6, 3), (3, 5), (4, 4))[: 3 if THOROUGH else 1])
  def test_derivatives(self, shape):
    """They are jax's, forward, backward, and the second."""
    rng = np.random.default_rng(3)
    a, a_dot = rng.normal(size=(2, 3, *shape))
    k = min(shape)
    inner = rng.normal(size=(k, k))

    def products(svd, a):
      """Does not depend on signs."""
      u, s, vh = svd(a, full_matrices=False)
      return u @ inner * s[..., None, :] @ vh, s

    def skewed(svd, a):
      u, s, vh = svd(a, full_matrices=False)
      x, y = u[..., None, :, :] * s[..., None, None, :], vh[..., None, :]
      return jnp.sum(x**2 * jnp.arange(k)), jnp.sum(y**4)

    def values(svd, a):
      return svd(a, compute_uv=False)

    for function in (skewed, values):
      _assert_close(
          *(
              _with_derivatives(functools.partial(function, svd), a, a_dot)
              for svd in (linalg.svd, jnp.linalg.svd)
          )
      )

  @parameterized.parameters(*_DTYPES)
  def test_hermitian(self, dtype):
    """The mean of a and a^T is decomposed, by eigh: U has its signs."""
    rng = np.random.default_rng(8)
    q = _orthogonal(rng, 5)
    a = np.stack([rng.normal(size=(5, 5)), q * [-2, 1, 0, 2, 1] @ q.T] * 2)
    a = a.astype(dtype)
    mean = (np.float64(a) + np.float64(a.mT)) / 2
    bound = 40 * np.finfo(dtype).eps * np.max(np.linalg.norm(mean, 2, (1, 2)))
    self.assertIn("handler", kit.explain(linalg.svd, a, hermitian=True))
    u, s, vh = (np.float64(x) for x in linalg.svd(a, hermitian=True))
    values = linalg.svd(a, compute_uv=False, hermitian=True)
    exact = np.linalg.svd(mean, compute_uv=False)
    for got in (s, values):
      np.testing.assert_allclose(got, exact, rtol=0, atol=bound)
      self.assertTrue(np.all(np.diff(got) <= 0) and np.all(got >= 0))
    np.testing.assert_allclose(u * s[:, None] @ vh, mean, rtol=0, atol=bound)
    for x in (*u, *vh.mT):
      self.assertLess(_off(x), bound)
    w, v = (np.asarray(x) for x in linalg.eigh(a))
    np.testing.assert_array_equal(u[0], v[0][:, np.argsort(-np.abs(w[0]))])

  def test_hermitian_of_equal_sizes(self):
    """Of values of one size, the order is jax's."""
    a = np.stack([np.diag([-2.0, 1, 2, -1]), np.diag([3.0, 3, -3, 0])])
    for got, want in zip(
        linalg.svd(a, hermitian=True), jnp.linalg.svd(a, hermitian=True)
    ):
      np.testing.assert_array_equal(np.abs(got)[0], np.abs(want)[0])
    u, s, vh = linalg.svd(a, hermitian=True)
    np.testing.assert_array_equal(u * s[:, None] @ vh, a)

  @parameterized.parameters(True, False)
  def test_hermitian_derivatives(self, compute_uv):
    """They are jax's; also of matrices that are not symmetric."""
    a, a_dot = np.random.default_rng(9).normal(size=(2, 2, 3, 3))

    def run(svd, a):
      if not compute_uv:
        return svd(a, compute_uv=False, hermitian=True)
      u, s, vh = svd(a, hermitian=True)
      return u**2, s, vh**2, u * vh.mT

    _assert_close(
        *(
            _with_derivatives(functools.partial(run, svd), a, a_dot)
            for svd in (linalg.svd, jnp.linalg.svd)
        )
    )

  @parameterized.parameters("handler if served", "reference")
  def test_equal_values(self, code):
    """Of values alone, derivatives are finite, as jax's are."""
    with kit.using(code):
      for a in (np.eye(3), np.ones((4, 3)), np.eye(3, 4)):
        for uv in (False, True):
          get = lambda svd, a, uv=uv: jnp.sum(
              (svd(a, False)[1] if uv else svd(a, compute_uv=False))[:1]
          )
          got = jax.grad(lambda a: get(linalg.svd, a))(a)
          self.assertTrue(np.all(np.isfinite(got)))

  def test_full_matrices(self):
    """jax has no derivatives of those that are not square, nor have we."""
    a = np.random.default_rng(4).normal(size=(4, 3))
    for svd in (linalg.svd, jnp.linalg.svd):
      with self.assertRaises(NotImplementedError):
        jax.jvp(svd, (a,), (a,))

  @parameterized.parameters(*((2, 6), (4, 4), (5, 3))[: 3 if THOROUGH else 2])
  def test_pinv(self, m, n):
    rng = np.random.default_rng(5)
    a, a_dot = rng.normal(size=(2, 7, m, n))
    a[2] = a[2][:, :1] * a[2][:1]  # Of rank 1.
    a_dot[2] = a[2] * 3  # And it stays so.
    calls = [{}, {"rtol": 1e-3}, {"rcond": np.full(7, 1e-4)}]
    if m == n:
      a[3] = a[2] + a[2].T  # Of rank 2.
      calls += [{"hermitian": True}, {"hermitian": True, "rtol": 1e-3}]
    for options in calls:
      _assert_close(
          *(
              _with_derivatives(functools.partial(pinv, **options), a, a_dot)
              for pinv in (linalg.pinv, jnp.linalg.pinv)
          )
      )
    with self.assertRaises(ValueError):
      linalg.pinv(a, 1.0, rcond=1.0)

  def test_norm(self):
    x = np.random.default_rng(6).normal(size=(3, 5, 4))
    for ord in (2, -2, "nuc", "fro", 1, None, 2.0):  # pylint: disable=redefined-builtin
      for axis in ((0, 1), (-1, 0), (2, 1)) if THOROUGH else ((-1, 0),):
        for keepdims in (False, True):
          got = linalg.norm(x, ord, axis, keepdims)
          want = jnp.linalg.norm(x, ord, axis, keepdims)
          np.testing.assert_allclose(got, want, rtol=1e-12)
          self.assertEqual(got.shape, want.shape)
      np.testing.assert_allclose(
          linalg.norm(x[0], ord), jnp.linalg.norm(x[0], ord), rtol=1e-12
      )
    for refused in (((0, 0), 2), ((0, 7), 2), ((0, 1), "no order")):
      for norm in (linalg.norm, jnp.linalg.norm):
        with self.assertRaises((TypeError, ValueError)):  # Which, jax says.
          norm(x, refused[1], refused[0])

  def test_left_to_jax(self):
    """Other sizes, dtypes and options."""
    a = np.random.default_rng(7).normal(size=(40, 3)).astype(np.float32)
    symmetric = a.T @ a
    for x, options in (
        (a, {}),
        (a[:0], {"full_matrices": False}),
        (a[:3] + 1j, {}),
        (symmetric.astype(np.complex64), {"hermitian": True}),
        (np.zeros((0, 0), np.float32), {"hermitian": True}),
        (symmetric.astype(np.int32), {"compute_uv": False}),
    ):
      got, want = linalg.svd(x, **options), jnp.linalg.svd(x, **options)
      self.assertIs(type(got), type(want))
      for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-4)
    with self.assertRaises((TypeError, ValueError)):  # Which one, jax says.
      linalg.svd(a[:, 0])


if __name__ == "__main__":
  absltest.main()
