# SPDX-License-Identifier: Apache-2.0
"""qr: the suite, LAPACK's bounds, and jax's results and derivatives."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import matrices
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import linalg
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH

_DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
_SHAPES = ((1, 1), (2, 2), (6, 3), (3, 6), (20, 8), (32, 32))
_DIFFERENTIATED = (
    (np.float64, (4, 4), "reduced"),
    (np.float64, (6, 3), "complete"),
    (np.complex128, (3, 5), "reduced"),
)
if THOROUGH:
  _SHAPES += ((1, 3), (3, 1), (3, 3), (8, 8), (32, 4), (4, 32))
  _DIFFERENTIATED = tuple(
      itertools.product(
          (np.float64, np.complex128),
          ((4, 4), (6, 3), (3, 5)),
          ("reduced", "complete"),
      )
  )


def _regular(rng, shape):
  """Matrices whose condition number is at most (2 + 1) / (2 - 1)."""
  a = rng.uniform(-1, 1, shape) / max(1, *shape[-2:])
  return a + 2 * np.eye(*shape[-2:])


class QrTest(testing.OpTest):
  case = Case(
      kit.ops_of(linalg.qr)[0],
      [Operand((5, 3), values=_regular)],
      tolerance=8.0,
      empty_cores=False,
  )


def _draw(rng, shape, dtype):
  x = rng.normal(size=shape)
  if np.issubdtype(dtype, np.complexfloating):
    x = x + 1j * rng.normal(size=shape)
  return x.astype(dtype)


def _matrices(m, n, dtype):
  """Yields names and matrices that are hard in some way."""
  rng = np.random.default_rng([m, n])
  # XLA takes subnormal numbers as 0. They are below any rounding here.
  far = 15 if np.finfo(dtype).bits == 32 else 145
  random = lambda: _draw(rng, (m, n), dtype).astype(np.complex128)
  yield "random", random()
  yield "graded columns", random() * np.logspace(0, -2 * far, n)
  yield "graded rows", random() * np.logspace(0, -far, m)[:, None]
  yield "zero", 0 * random()
  yield "identity", np.eye(m, n)
  yield "ones", np.ones((m, n))
  yield "rank 1", random()[:, :1] * random()[:1]
  yield "triangular", np.triu(random())
  yield "large", random() * 10.0 ** (2 * far)
  yield "small", random() * 10.0 ** (-2 * far)
  tiny = np.full((m, n), 10.0**-far)
  tiny[0] = 1
  yield "tiny below", tiny


def _inputs(m, n, dtype):
  names, found = zip(*_matrices(m, n, dtype))
  real = np.issubdtype(dtype, np.floating)
  found = [np.real(a) if real else a for a in found]
  return names, np.stack(found).astype(dtype)


def _wide(x):
  return np.asarray(x).astype(np.clongdouble)


# jax 0.9 has no derivatives of complete factors of tall matrices.
_JAX_REFUSES = jax.__version_info__ < (0, 10)


def _by_squares(a, mode):
  """jax's qr; of wide matrices by that of the square, as jax 0.9 needs it."""
  m = a.shape[-2]
  q, r = jnp.linalg.qr(a[..., :m], mode)
  return q, jnp.concatenate([r, q.conj().mT @ a[..., m:]], axis=-1)


class BoundsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  @parameterized.product(dtype=_DTYPES, shape=_SHAPES)
  def test_bounds(self, dtype, shape):
    """Columns of A - Q R, and Q^H Q - I, are as small as LAPACK's.

    Higham (Accuracy and Stability of Numerical Algorithms, theorem 19.4) has a
    constant times m n epsilon; the constants of LAPACK's tests are 30, for one
    norm of all. Reflectors of complex numbers take 4 times as many roundings.
    """
    m, n = shape
    names, a = _inputs(m, n, dtype)
    bound = 4 * max(m, n) * np.finfo(dtype).eps
    bound *= 2 if np.issubdtype(dtype, np.complexfloating) else 1
    for mode in ("reduced", "complete"):
      q, r = map(np.asarray, linalg.qr(a, mode))
      np.testing.assert_array_equal(r, np.triu(r))
      np.testing.assert_array_equal(np.diagonal(r, 0, -2, -1).imag, 0)
      for name, a_i, q_i, r_i in zip(names, _wide(a), _wide(q), _wide(r)):
        # Squares of large numbers overflow, in NumPy's norms, too.
        size = np.maximum(np.max(np.abs(a_i), axis=0), np.finfo(dtype).tiny)
        residual = (q_i @ r_i - a_i) / size
        error = np.sqrt(np.sum(np.abs(residual) ** 2, axis=0))
        norm = np.sqrt(np.sum(np.abs(a_i / size) ** 2, axis=0))
        self.assertTrue(np.all(error <= bound * np.maximum(norm, 1)), name)
        product = q_i.conj().T @ q_i - np.eye(q_i.shape[1])
        self.assertLess(np.max(np.abs(product)), bound, name)
    np.testing.assert_array_equal(linalg.qr(a, "r"), linalg.qr(a, "reduced")[1])

  @parameterized.product(dtype=matrices.SOME_DTYPES, shape=_SHAPES)
  def test_signs(self, dtype, shape):
    """They are jax's, and so LAPACK's."""
    rng = np.random.default_rng(0)
    a = _draw(rng, (5, *shape), dtype)
    a[0] = np.eye(*shape)
    a[1] = np.triu(a[1])
    a[2, 1:, 0] = np.finfo(dtype).tiny  # Their squares are 0.
    for mode in ("reduced", "complete"):
      for got, want in zip(linalg.qr(a, mode), jnp.linalg.qr(a, mode)):
        np.testing.assert_allclose(
            got, want, atol=2e3 * np.finfo(dtype).eps * max(shape)
        )

  def test_numbers_that_are_not_finite(self):
    """A matrix has NaN where jax has, and those in other lanes have none."""
    a = _draw(np.random.default_rng(1), (16, 5, 3), np.float32)
    a[3, 2, 1], a[7, 4, 2], a[9, 0, 0] = np.nan, np.inf, np.nan
    for got, want in zip(linalg.qr(a), jnp.linalg.qr(a)):
      np.testing.assert_array_equal(np.isnan(got), np.isnan(want))

  @parameterized.parameters(*_DTYPES)
  def test_lanes(self, dtype):
    """A matrix has the same bits alone, and in each lane."""
    a = _draw(np.random.default_rng(2), (37, 6, 4), dtype)
    together = [np.asarray(x) for x in linalg.qr(a)]
    for i in (0, 1, 15, 16, 36):
      for x, y in zip(together, linalg.qr(a[i])):
        np.testing.assert_array_equal(x[i], y)

  @parameterized.parameters(*_DIFFERENTIATED)
  def test_derivatives(self, dtype, shape, mode):
    """They are jax's, forward, backward, and the second."""
    rng = np.random.default_rng(3)
    a, a_dot = (_draw(rng, (3, *shape), dtype) for _ in range(2))
    if mode == "complete" and shape[0] > shape[1] and _JAX_REFUSES:
      with self.assertRaises(NotImplementedError):
        jax.jvp(lambda a: linalg.qr(a, mode), (a,), (a_dot,))
      return
    weights = [_draw(rng, x.shape, dtype) for x in jnp.linalg.qr(a, mode)]
    pairs = []
    for function in (linalg.qr, _by_squares):
      run = lambda a, function=function: tuple(function(a, mode))
      loss = lambda a, run=run: sum(
          jnp.sum(jnp.real(w * x * x)) for w, x in zip(weights, run(a))
      )
      gradient = jax.grad(loss)
      derivatives = lambda a, run=run, gradient=gradient: [
          jax.jvp(run, (a,), (a_dot,))[1],
          gradient(a),
          jax.jvp(gradient, (a,), (a_dot,))[1],
      ]
      pairs.append(jax.jit(derivatives)(a))
    for got, want in zip(*map(jax.tree.leaves, pairs)):
      np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)

  def test_left_to_jax(self):
    """Other sizes, dtypes and modes, and what jax refuses."""
    a = _draw(np.random.default_rng(4), (40, 3), np.float32)
    for mode in ("reduced", "r", "raw"):
      for x in (a, a[:0], a[:, :0], a.astype(np.int32)):
        got, want = linalg.qr(x, mode), jnp.linalg.qr(x, mode)
        self.assertIs(type(got), type(want))
        for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
          np.testing.assert_allclose(one, other, atol=1e-5)
    with self.assertRaisesRegex(ValueError, "mode"):
      linalg.qr(a, "no mode")
    with self.assertRaises((TypeError, ValueError)):  # Which one, jax says.
      linalg.qr(a[:, 0])


if __name__ == "__main__":
  absltest.main()
