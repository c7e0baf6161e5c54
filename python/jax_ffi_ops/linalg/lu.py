# SPDX-License-Identifier: Apache-2.0
"""LU factors, and what is solved and computed with them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.primitives import sharding
from jax_ffi_ops.linalg import operands
from jax_ffi_ops.linalg import small_product
from jax_ffi_ops.linalg import triangular


def _lu_reference(a):
  return jax.lax.linalg.lu(a)


def _unit_lower(lu):
  return jnp.tril(lu, -1) + operands.identity(lu.shape[-1], lu)


def _lu_jvp(lu, order, a_dot):
  """L_dot = L tril(F), U_dot = triu(F) U, for F = L^-1 P A_dot U^-1."""
  f = triangular.solve_lower(lu, a_dot[order], unit_diagonal=True)
  f = triangular.solve_triangular(lu, f.mT, 1).mT
  return (_unit_lower(lu) @ jnp.tril(f, -1) + jnp.triu(f) @ jnp.triu(lu),)


_lu = kit.op(
    "lu",
    library=operands.LIBRARY,
    signature="(n,n)->(n,n),(n),(n)",
    reference=_lu_reference,
    dtypes=operands.NUMBERS,
    outputs=("lu", "pivots", "order"),
    derivatives=kit.Derivatives(
        jvp=_lu_jvp, residuals=("lu", "pivots", "order")
    ),
    choice=operands.LU_CHOICE,
)


def _solve_reference(lu, order, b, *, transpose, conjugate):
  lu = jnp.conj(lu) if conjugate else lu
  lower = functools.partial(
      jax.lax.linalg.triangular_solve, lu, lower=True, unit_diagonal=True,
      left_side=True, transpose_a=transpose,
  )  # fmt: skip
  upper = functools.partial(
      jax.lax.linalg.triangular_solve, lu, left_side=True,
      transpose_a=transpose,
  )  # fmt: skip
  if transpose:
    return lower(upper(b))[jnp.argsort(order)]
  return upper(lower(b[order]))


def _solve_backward(lu, order, x, dx, *, transpose, conjugate):
  """op(A)^-T dx for b; for op(A), minus y z^T: its product with x^T; P A = L U.

  That of few columns is never formed: L^T y and U z are smaller.
  """
  db = _lu_solve(lu, order, dx, transpose=not transpose, conjugate=conjugate)
  y, z = (x, db) if transpose else (db, x)
  if conjugate:
    y, z = jnp.conj(y), jnp.conj(z)
  y = y[order]
  dl = jnp.tril(y @ (jnp.triu(lu) @ z).mT, -1)
  return -(dl + jnp.triu((_unit_lower(lu).mT @ y) @ z.mT)), db


_lu_solve = kit.op(
    "lu_solve",
    library=operands.LIBRARY,
    signature="(n,n),(n),(n,k)->(n,k)",
    attributes={"transpose": np.bool_, "conjugate": np.bool_},
    reference=_solve_reference,
    dtypes={"lu": operands.NUMBERS, "order": (np.int32,), "b": "lu"},
    operands={
        "lu": kit.Operand(stretched=True),
        "order": kit.Operand(stretched=True),
    },
    outputs=("x",),
    derivatives=kit.Derivatives(backward=_solve_backward, residuals=("x",)),
    choice=operands.LU_CHOICE,
)


@jax.jit
def _solved(a, b):
  """Solves a x = b; gradients use the factors again, as jax's do."""
  a, b = sharding.vary_alike((a, b))  # In a shard_map, cotangents of b do as x.
  lu, _, order = _lu(jax.lax.stop_gradient(a))
  batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
  b = jnp.broadcast_to(b, batch + b.shape[-2:])
  solve = functools.partial(_lu_solve, lu, order, conjugate=False)
  # XLA makes one loop over all matrices of a product with vectors.
  product = small_product.product if b.shape[-1] > 1 else jnp.matmul
  return jax.lax.custom_linear_solve(
      lambda x: product(a, x),
      b,
      lambda _, b: solve(b, transpose=False),
      lambda _, b: solve(b, transpose=True),
  )


@operands.public(_lu, _lu_solve, *kit.ops_of(small_product.product))
def solve(a: jax.Array, b: jax.Array) -> jax.Array:
  """Solves systems of linear equations, in place of jax.numpy.linalg.solve.

  Lanes of vectors solve a system each, by Gaussian elimination with LAPACK's
  pivots. Gradients solve one more system, with the same factors. jax computes
  calls with more than 32 equations, other dtypes, and platforms without a
  handler.

  Args:
    a: the matrices, [..., n, n], of a real or complex dtype.
    b: the right-hand sides, [n] or [..., n, k]; leading axes broadcast.

  Returns:
    x, of the shape of `b` with the leading axes of `a`. If a matrix is
    singular, x has infinities or NaNs.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.solve.
  """
  found = operands.systems(a, b)
  if found is None:
    return jnp.linalg.solve(a, b)
  x = _solved(*found)
  return x[..., 0] if b.ndim == 1 else x


@operands.public(_lu, _lu_solve, *kit.ops_of(small_product.product))
def inv(a: jax.Array) -> jax.Array:
  """Inverts matrices, in place of jax.numpy.linalg.inv: see `solve`.

  Args:
    a: the matrices, [..., n, n], of a real or complex dtype.

  Returns:
    The inverses, of the shape of `a`. If a matrix is singular, its inverse has
    infinities or NaNs.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.inv.
  """
  found = operands.square(a)
  if found is None:
    return jnp.linalg.inv(a)
  return _inverse(found)


@jax.jit
def _inverse(a):
  one = operands.identity(a.shape[-1], a)
  return _solved(a, one.reshape((1,) * (a.ndim - 2) + one.shape))


@operands.public(_lu)
def lu_factor(
    a: jax.Array, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[jax.Array, jax.Array]:
  """Factors matrices for `lu_solve`: jax.scipy.linalg.lu_factor.

  P A = L U, with partial pivoting; of equal pivots it is the first, as in
  LAPACK. Many systems may be solved with the factors, and gradients go through
  them.

  Args:
    a: the matrices, [..., n, n].
    overwrite_a: has no effect.
    check_finite: has no effect.

  Returns:
    U with L below its diagonal of ones, of the shape of `a`; and pivots, int32
    [..., n]: row i has been exchanged with row pivots[i].

  Raises:
    TypeError, ValueError: as jax.scipy.linalg.lu_factor.
  """
  found = operands.square(a)
  if found is None:
    return jax.scipy.linalg.lu_factor(a, overwrite_a, check_finite)
  return _lu(found)[:2]


@operands.public(_lu_solve)
def lu_solve(
    lu_and_piv: tuple[jax.Array, jax.Array],
    b: jax.Array,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> jax.Array:
  """Solves systems with factors of `lu_factor`: jax.scipy.linalg.lu_solve.

  Args:
    lu_and_piv: what `lu_factor` has returned.
    b: the right-hand sides, [n] or [..., n, k]; leading axes broadcast.
    trans: 0: a x = b; 1: a^T x = b; 2: a^H x = b.
    overwrite_b: has no effect.
    check_finite: has no effect.

  Returns:
    x, of the shape of `b` with the leading axes of the factors.

  Raises:
    TypeError, ValueError: as jax.scipy.linalg.lu_solve.
  """
  lu, pivots = lu_and_piv
  found = operands.systems_of_scipy(lu, b)
  if found is None or not isinstance(trans, int) or trans not in (0, 1, 2):
    return jax.scipy.linalg.lu_solve(
        lu_and_piv, b, trans, overwrite_b, check_finite
    )
  order = jax.lax.linalg.lu_pivots_to_permutation(
      jnp.asarray(pivots), lu.shape[-1]
  )
  order = order.reshape((1,) * (found[0].ndim - lu.ndim) + order.shape)
  x = _lu_solve(
      found[0], order, found[1], transpose=trans > 0, conjugate=trans == 2
  )
  return x[..., 0] if b.ndim == 1 else x


def _signs_of_exchanges(pivots, dtype):
  own = jax.lax.broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
  odd = jnp.sum(pivots != own, axis=-1) % 2
  return (1 - 2 * odd).astype(dtype)


def _sign_and_log(lu, pivots):
  """Returns those of determinants."""
  diagonal = jnp.diagonal(lu, axis1=-2, axis2=-1)
  size = jnp.abs(diagonal)
  is_singular = jnp.any(size == 0, axis=-1)
  if jnp.iscomplexobj(lu):
    signs = diagonal / jnp.where(size == 0, 1, size)
  else:  # The sign of NaN is 1, as in jax.
    signs = jnp.where(diagonal < 0, -1, 1).astype(lu.dtype)
  sign = jnp.prod(signs, axis=-1) * _signs_of_exchanges(pivots, lu.dtype)
  sign = jnp.where(is_singular, jnp.zeros_like(sign), sign)
  # Without a constant that is infinite, which jax_debug_infs refuses.
  size = jnp.where(is_singular[..., None], 0, size)
  return sign, jnp.sum(jnp.log(size), axis=-1)


@jax.custom_jvp
@jax.jit
def _slogdet(a):
  return _sign_and_log(*_lu(a)[:2])


@_slogdet.defjvp
def _slogdet_jvp(primals, tangents):
  (a,), (a_dot,) = primals, tangents
  sign, log = _slogdet(a)
  trace = jnp.trace(_solved(a, a_dot), axis1=-2, axis2=-1)
  if not jnp.iscomplexobj(a):
    return (sign, log), (jnp.zeros_like(sign), trace)
  return (sign, log), (1j * trace.imag.astype(sign.dtype) * sign, trace.real)


@operands.public(_lu, _lu_solve, *kit.ops_of(small_product.product))
def slogdet(a: jax.Array, *, method: str | None = None) -> Any:
  """Signs and logarithms of determinants: jax.numpy.linalg.slogdet.

  Args:
    a: the matrices, [..., n, n], of a real or complex dtype.
    method: None or "lu": the product of pivots; "qr", and matrices of one or
      two rows, are computed by jax.

  Returns:
    A named tuple of jax: sign, of the dtype of `a`, and logabsdet, a real
    array; both have the leading axes of `a`. A singular matrix has sign 0 and
    logarithm -inf.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.slogdet.
  """
  found = operands.square(a)
  if found is None or method not in (None, "lu") or found.shape[-1] <= 2:
    return jnp.linalg.slogdet(a, method=method)
  return _SLOGDET(*_slogdet(found))


_SLOGDET = type(
    jax.eval_shape(jnp.linalg.slogdet, np.zeros((3, 3), np.float32))
)


@jax.custom_jvp
@jax.jit
def _det(a):
  lu, pivots, _ = _lu(a)
  product = jnp.prod(jnp.diagonal(lu, axis1=-2, axis2=-1), axis=-1)
  # A part of it may overflow, or underflow. jax's has fewer digits.
  sign, log = _sign_and_log(lu, pivots)
  return jnp.where(
      jnp.isfinite(product) & (product != 0),
      product * _signs_of_exchanges(pivots, a.dtype),
      sign * jnp.exp(log).astype(a.dtype),
  )


@_det.defjvp
def _det_jvp(primals, tangents):
  (a,), (a_dot,) = primals, tangents
  det, found = _cofactors_times(a, a_dot)
  return det, jnp.trace(found, axis1=-2, axis2=-1)


def _cofactors_times(a, b):
  """Returns det(A), and det(A) A^-1 B, also where one pivot, the last, is 0.

  With U' that has 1 / (the product of the other pivots, signed) for the last
  pivot, det(A) U^-1 y is U'^-1 of y whose other rows are times det(A). It is 0
  where that is not finite: of a matrix of lower rank, all cofactors are 0.
  """
  n = a.shape[-1]
  lu, pivots, order = _lu(a)
  diagonal = jnp.diagonal(lu, axis1=-2, axis2=-1)
  signs = _signs_of_exchanges(pivots, a.dtype)
  others = jnp.prod(diagonal[..., :-1], axis=-1) * signs
  det = others * diagonal[..., -1]
  is_last = (jnp.arange(n) == n - 1)[:, None]
  upper = jnp.where(
      is_last & is_last.mT, (1 / others)[..., None, None], jnp.triu(lu)
  )
  one = jnp.ones((*a.shape[:-1], 1), a.dtype)
  is_regular = jnp.isfinite(triangular.solve_triangular(upper, one))
  is_regular = jnp.all(is_regular, axis=(-2, -1), keepdims=True)
  y = jnp.take_along_axis(b, order[..., None], axis=-2)
  y = triangular.solve_lower(lu, y, unit_diagonal=True)
  y = jnp.where(is_last, y, y * det[..., None, None])
  y = jnp.where(is_regular, y, 0)
  upper = jnp.where(is_regular, upper, operands.identity(n, a))
  return det, triangular.solve_triangular(upper, y)


@operands.public(_lu, *kit.ops_of(triangular.solve_triangular))
def det(a: jax.Array) -> jax.Array:
  """Determinants of matrices, in place of jax.numpy.linalg.det.

  They are products of pivots; of matrices with at most 3 rows, jax's formulas.
  Gradients are right for singular matrices, too.

  Args:
    a: the matrices, [..., n, n], of a real or complex dtype.

  Returns:
    An array of the leading axes of `a`.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.det.
  """
  found = operands.square(a)
  if found is None or found.shape[-1] <= 3:
    return jnp.linalg.det(a)
  return _det(found)
