# SPDX-License-Identifier: Apache-2.0
"""Triangular systems."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.linalg import operands


def _reference(a, b, *, lower, transpose, conjugate, unit_diagonal):
  return jax.lax.linalg.triangular_solve(
      jnp.conj(a) if conjugate else a,
      b,
      left_side=True,
      lower=lower,
      transpose_a=transpose,
      unit_diagonal=unit_diagonal,
  )


def _transpose(a, dx, *, transpose, **others):
  return (_solve(a, dx, transpose=not transpose, **others),)


def _backward(a, x, dx, *, lower, conjugate, transpose, unit_diagonal):
  """op(A)^-T dx for b; for op(A), minus its product with x^T."""
  db = _solve(
      a,
      dx,
      lower=lower,
      transpose=not transpose,
      conjugate=conjugate,
      unit_diagonal=unit_diagonal,
  )
  da = -(x @ db.mT if transpose else db @ x.mT)
  da = jnp.conj(da) if conjugate else da
  inner = int(unit_diagonal)
  return (jnp.tril(da, -inner) if lower else jnp.triu(da, inner)), db


_solve = kit.op(
    "triangular_solve",
    library=operands.LIBRARY,
    signature="(n,n),(n,k)->(n,k)",
    attributes={
        "lower": np.bool_,
        "transpose": np.bool_,
        "conjugate": np.bool_,
        "unit_diagonal": np.bool_,
    },
    reference=_reference,
    dtypes=operands.NUMBERS,
    operands={"a": kit.Operand(stretched=True)},
    outputs=("x",),
    derivatives=kit.Derivatives(
        backward=_backward, transpose=_transpose, residuals=("x",)
    ),
    choice=operands.LU_CHOICE,
)


def solve_lower(
    a: jax.Array,
    b: jax.Array,
    *,
    adjoint_of: bool = False,
    unit_diagonal: bool = False,
) -> jax.Array:
  """Solves L x = b, or L^H x = b, for the lower triangle L of a."""
  return _solve(
      a,
      b,
      lower=True,
      transpose=adjoint_of,
      conjugate=adjoint_of,
      unit_diagonal=unit_diagonal,
  )


_TRANSPOSES = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


@operands.public(_solve)
def solve_triangular(
    a: jax.Array,
    b: jax.Array,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> jax.Array:
  """Solves triangular systems, in place of jax.scipy.linalg.solve_triangular.

  Lanes of vectors solve a system each, by substitution. Gradients solve one
  more system, with the transpose. jax computes calls with more than 32
  equations, other dtypes, and platforms without a handler.

  Args:
    a: the matrices, [..., n, n]; the other triangle is not read.
    b: the right-hand sides, [n] or [..., n, k]; leading axes broadcast.
    trans: 0 or "N": a x = b; 1 or "T": a^T x = b; 2 or "C": a^H x = b.
    lower: whether `a` is lower triangular.
    unit_diagonal: whether the diagonal counts as ones, and is not read.
    overwrite_b: has no effect.
    debug: has no effect.
    check_finite: has no effect.

  Returns:
    x, of the shape of `b` with the leading axes of `a`. What is divided by a 0
    of the diagonal is infinite or NaN.

  Raises:
    TypeError, ValueError: as jax.scipy.linalg.solve_triangular.
  """
  found = operands.systems_of_scipy(a, b)
  if (
      found is None
      or not isinstance(trans, int | str)
      or trans not in _TRANSPOSES
      or not operands.are_flags(lower, unit_diagonal)
  ):
    return jax.scipy.linalg.solve_triangular(
        a, b, trans, lower, unit_diagonal, overwrite_b, debug, check_finite
    )
  code = _TRANSPOSES[trans]
  x = _solve(
      *found,
      lower=bool(lower),
      transpose=code > 0,
      conjugate=code == 2,
      unit_diagonal=bool(unit_diagonal),
  )
  return x[..., 0] if b.ndim == 1 else x
