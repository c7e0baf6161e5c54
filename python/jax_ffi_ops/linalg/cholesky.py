# SPDX-License-Identifier: Apache-2.0
"""Cholesky factors, and what is solved with them."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.linalg import operands
from jax_ffi_ops.linalg import triangular
from jax_ffi_ops.linalg.operands import adjoint

# Before jax 0.11.2, a factor of a triangle has derivatives of the other one too.
_IS_OF_TRIANGLE = jax.__version_info__ >= (0, 11, 2)


def _reference(a, *, symmetrize):
  return jax.lax.linalg.cholesky(a, symmetrize_input=symmetrize)


def _backward(l, dl, *, symmetrize):
  """L^-T phi(L^T dL) conj(L)^-1, of which phi halves the diagonal."""
  inner = jnp.tril(l.mT @ jnp.tril(dl))
  inner = inner - jnp.diag(jnp.diag(inner)) / 2
  half = triangular.solve_triangular(l, inner, 1, lower=True)
  a = triangular.solve_triangular(l, half.mT, 2, lower=True).mT
  return ((a + adjoint(a)) / 2 if symmetrize else a,)


_cholesky = kit.op(
    "cholesky",
    library=operands.LIBRARY,
    signature="(n,n)->(n,n)",
    attributes={"symmetrize": np.bool_},
    reference=_reference,
    dtypes=operands.NUMBERS,
    outputs=("l",),
    derivatives=kit.Derivatives(backward=_backward, residuals=("l",)),
    # The gradient of one large matrix is slower in one lane of many.
    choice=operands.choice({24: 2}),
)


@jax.custom_jvp
def _triangle(a):
  """Returns matrices of which the lower triangle is read."""
  return a


@_triangle.defjvp
def _triangle_jvp(primals, tangents):
  """Returns the Hermitian tangent that has the given lower triangle."""
  (a,), (a_dot,) = primals, tangents
  half = jnp.tril(a_dot) * (1 - operands.identity(a.shape[-1], a) / 2)
  return _triangle(a), half + adjoint(half)


@jax.jit
def _factor_of_triangle(a):
  return _cholesky(_triangle(a) if _IS_OF_TRIANGLE else a, symmetrize=False)


@operands.public(_cholesky)
def cholesky(
    a: jax.Array, *, upper: bool = False, symmetrize_input: bool = True
) -> jax.Array:
  """Factors Hermitian matrices, A = L L^H, in place of jax.numpy.linalg.cholesky.

  Lanes of vectors factor a matrix each (Golub and Van Loan, Matrix
  Computations, 4.2). Gradients are Murray's (Differentiation of the Cholesky
  decomposition, 2016). jax computes calls with more than 32 rows, other dtypes,
  and platforms without a handler.

  Args:
    a: the matrices, [..., n, n], of a real or complex dtype.
    upper: whether to return L^H.
    symmetrize_input: whether A is (a + a^H) / 2; if not, the lower triangle of
      `a` is read.

  Returns:
    L, of the shape of `a`: lower triangular, with a positive diagonal. The
    triangle is NaN if A is not positive definite.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.cholesky.
  """
  found = operands.square(a)
  if found is None or not operands.are_flags(upper, symmetrize_input):
    return jnp.linalg.cholesky(
        a, upper=upper, symmetrize_input=symmetrize_input
    )
  l = (
      _cholesky(found, symmetrize=True)
      if symmetrize_input
      else _factor_of_triangle(found)
  )
  return adjoint(l) if upper else l


@operands.public(_cholesky)
def cho_factor(
    a: jax.Array,
    lower: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[jax.Array, bool]:
  """Factors Hermitian matrices for `cho_solve`: jax.scipy.linalg.cho_factor.

  Args:
    a: the matrices, [..., n, n].
    lower: which triangle of `a` is read, and holds the factor.
    overwrite_a: has no effect.
    check_finite: has no effect.

  Returns:
    The factor, L or L^H, with zeros in the other triangle; and `lower`.

  Raises:
    TypeError, ValueError: as jax.scipy.linalg.cho_factor.
  """
  found = operands.square(a)
  if found is None or not operands.are_flags(lower):
    return jax.scipy.linalg.cho_factor(a, lower, overwrite_a, check_finite)
  l = _factor_of_triangle(found if lower else adjoint(found))
  return (l if lower else adjoint(l)), lower


@operands.public(*kit.ops_of(triangular.solve_triangular))
def cho_solve(
    c_and_lower: tuple[jax.Array, bool],
    b: jax.Array,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> jax.Array:
  """Solves A x = b for a factor of `cho_factor`: jax.scipy.linalg.cho_solve.

  Args:
    c_and_lower: what `cho_factor` has returned.
    b: the right-hand sides, [n] or [..., n, k]; leading axes broadcast.
    overwrite_b: has no effect.
    check_finite: has no effect.

  Returns:
    x, of the shape of `b` with the leading axes of the factor.

  Raises:
    TypeError, ValueError: as jax.scipy.linalg.cho_solve.
  """
  c, lower = c_and_lower
  found = operands.systems_of_scipy(c, b)
  if found is None or not operands.are_flags(lower):
    return jax.scipy.linalg.cho_solve(c_and_lower, b, overwrite_b, check_finite)
  c, x = found
  for trans in (0, 2) if lower else (2, 0):
    x = triangular.solve_triangular(c, x, trans, lower)
  return x[..., 0] if b.ndim == 1 else x
