# SPDX-License-Identifier: Apache-2.0
"""QR factors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.linalg import operands
from jax_ffi_ops.linalg import triangular
from jax_ffi_ops.linalg.operands import adjoint

# Of fewer matrices, most lanes are empty.
_CHOICE = operands.choice_of_shapes({1: 2})


def _reference(a):
  return tuple(jnp.linalg.qr(a))


def _backward(q, r, dq, dr):
  """See QrGradient in xla_ffi_ops/linalg/qr_lanes.h."""
  k = q.shape[1]
  first, others = dr[:, :k], dr[:, k:]
  outer = jnp.conj(r[:, k:] @ others.mT)
  inner = first @ r[:, :k].mT - q.mT @ dq - outer
  above = jnp.triu(inner, 1)
  diagonal = jnp.diag(jnp.diag(inner).real.astype(q.dtype))
  x = dq + jnp.conj(q) @ (above + adjoint(above) + diagonal + outer)
  da = triangular.solve_triangular(r[:, :k], x.mT).mT
  return (jnp.concatenate([da, jnp.conj(q) @ others], axis=1),)


_qr = kit.op(
    "qr",
    library=operands.LIBRARY,
    signature="(m,n)->(m,k),(k,n)",
    reference=_reference,
    dtypes=operands.NUMBERS,
    outputs=("q", "r"),
    results=kit.Results(sizes={"k": lambda m, n: min(m, n)}),
    derivatives=kit.Derivatives(backward=_backward, residuals=("q", "r")),
    choice=_CHOICE,
)


# jax differentiates its own function.
_qr_complete = kit.op(
    "qr_complete",
    library=operands.LIBRARY,
    signature="(m,n)->(m,m),(m,n)",
    reference=lambda a: tuple(jnp.linalg.qr(a, mode="complete")),
    dtypes=operands.NUMBERS,
    outputs=("q", "r"),
    choice=_CHOICE,
)


@operands.public(_qr, _qr_complete)
def qr(a: jax.Array, mode: str = "reduced") -> Any:
  """Factors matrices, A = Q R, in place of jax.numpy.linalg.qr.

  Lanes of vectors factor a matrix each, by Householder's reflectors (Golub and
  Van Loan, Matrix Computations, 5.2). Signs are LAPACK's: the diagonal of R is
  real, and may be negative. A backward handler computes gradients, but not of
  complete factors with m > n: these are jax's. jax computes calls with more
  than 32 rows or columns, other dtypes and modes, and platforms without a
  handler.

  Args:
    a: the matrices, [..., m, n], of a real or complex dtype.
    mode: "reduced": Q of shape [..., m, k] and R, [..., k, n], where k is the
      lesser of m and n; "complete": the same, where k is m; "r": the reduced R
      alone; "raw": LAPACK's storage, by jax.

  Returns:
    A named tuple of jax: Q, R; or R alone. The columns of Q are orthonormal,
    also where A is singular.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.qr.
  """
  found = operands.matrices(a)
  if found is None or mode not in ("reduced", "complete", "r"):
    return jnp.linalg.qr(a, mode=mode)
  m, n = found.shape[-2:]
  is_complete = mode == "complete" and m > n
  q, r = (_qr_complete if is_complete else _qr)(found)
  return r if mode == "r" else _RESULT(q, r)


_RESULT = type(jax.eval_shape(jnp.linalg.qr, np.zeros((1, 1), np.float32)))
