# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and eigenvectors of symmetric matrices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.linalg import operands


def _signed(v):
  """Turns columns by the rule of linalg/eigh_lanes.h."""
  size = jnp.abs(v)
  is_large = size >= 0.9 * jnp.max(size, axis=0, initial=0)
  first = jnp.argmax(is_large, axis=0, keepdims=True)
  return jnp.where(jnp.take_along_axis(v, first, axis=0) < 0, -v, v)


def _reference(a, *, symmetrize):
  if not a.size:
    return jnp.zeros(a.shape[:1], a.dtype), a
  v, w = jax.lax.linalg.eigh(a, symmetrize_input=symmetrize)
  return w, _signed(v)


def _values_reference(a, *, symmetrize):
  return _reference(a, symmetrize=symmetrize)[0]


def _inverse_gaps(w):
  """Returns F, 1 / (w[j] - w[i]), and 0 on the diagonal, as jax computes it."""
  one = operands.identity(len(w), w)
  return 1 / (w - w[:, None] + one) - one


def _jvp(w, v, a_dot, *, symmetrize):
  if symmetrize:
    a_dot = (a_dot + a_dot.T) / 2
  inner = v.T @ a_dot @ v
  return jnp.diag(inner), v @ (_inverse_gaps(w) * inner)


def _backward(w, v, dw, dv, *, symmetrize):
  inner = _inverse_gaps(w) * (v.T @ dv)
  # Where w alone is used, equal eigenvalues do no harm.
  inner = jnp.where(jnp.any(dv != 0), inner, 0) + jnp.diag(dw)
  da = v @ inner @ v.T
  return ((da + da.T) / 2 if symmetrize else da,)


# A call of one matrix fills one lane of 16. LAPACK's is faster from 24 rows on;
# below, what turns its signs takes longer than the handler.
_CHOICE = operands.choice({24: 2})

_eigh = kit.op(
    "eigh",
    library=operands.LIBRARY,
    signature="(n,n)->(n),(n,n)",
    attributes={"symmetrize": np.bool_},
    reference=_reference,
    dtypes=operands.REAL,
    outputs=("w", "v"),
    derivatives=kit.Derivatives(
        jvp=_jvp, backward=_backward, residuals=("w", "v")
    ),
    choice=_CHOICE,
)

# Without derivatives: these come from eigenvectors.
_eigenvalues = kit.op(
    "eigh_values",
    library=operands.LIBRARY,
    signature="(n,n)->(n)",
    attributes={"symmetrize": np.bool_},
    reference=_values_reference,
    dtypes=operands.REAL,
    choice=_CHOICE,
)


def _values(a, symmetrize):
  """The values alone; their derivatives are those of eigh."""

  @jax.custom_jvp
  def values(a):
    return _eigenvalues(a, symmetrize=symmetrize)

  @values.defjvp
  def _(primals, tangents):
    function = lambda a: _eigh(a, symmetrize=symmetrize)[0]
    return jax.jvp(function, primals, tangents)

  return values(a)


def _served(a: Any, uplo: Any, symmetrize: Any) -> jax.Array | None:
  """Returns matrices whose lower triangle is read; None: jax's to judge."""
  found = operands.square(a, operands.REAL)
  if uplo not in (None, "L", "U") or not operands.are_flags(symmetrize):
    return None
  if found is None or uplo != "U" or symmetrize:
    return found
  return found.mT


@operands.public(_eigh)
def eigh(
    a: jax.Array, UPLO: str | None = None, symmetrize_input: bool = True
) -> Any:
  """Eigenvalues and eigenvectors: jax.numpy.linalg.eigh.

  Lanes of vectors decompose a matrix each, A = V diag(w) V^T, by implicit QL
  sweeps over Householder's tridiagonal matrix (Golub and Van Loan, Matrix
  Computations, 8.3). Derivatives are jax's formulas: those of eigenvectors are
  not finite where eigenvalues are equal. jax computes calls with more than 32
  rows, complex and 16-bit matrices, and platforms without a handler.

  Args:
    a: the matrices, [..., n, n].
    UPLO: which triangle is read if `symmetrize_input` is False: "L" or None,
      the lower one; "U", the upper one.
    symmetrize_input: whether A is (a + a^H) / 2.

  Returns:
    A named tuple of jax: eigenvalues, [..., n], in ascending order, and
    eigenvectors, the columns of an array of the shape of `a`. Of each, the
    first element of at least 9/10 of the largest size is positive; with more
    than 32 rows or complex numbers, signs are LAPACK's, and arbitrary. If an
    element of a matrix is not finite, its results are NaN.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.eigh.
  """
  found = _served(a, UPLO, symmetrize_input)
  if found is None:
    return jnp.linalg.eigh(a, UPLO, symmetrize_input)
  return _RESULT(*_eigh(found, symmetrize=bool(symmetrize_input)))


@operands.public(_eigenvalues, _eigh)
def eigvalsh(
    a: jax.Array, UPLO: str | None = "L", *, symmetrize_input: bool = True
) -> jax.Array:
  """Eigenvalues of symmetric matrices: jax.numpy.linalg.eigvalsh, by `eigh`.

  Args:
    a: the matrices, [..., n, n].
    UPLO: as for `eigh`.
    symmetrize_input: as for `eigh`.

  Returns:
    The eigenvalues, [..., n], in ascending order. Their derivatives are finite
    where eigenvalues are equal, too.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.eigvalsh.
  """
  found = _served(a, UPLO, symmetrize_input)
  if found is None:
    return jnp.linalg.eigvalsh(a, UPLO, symmetrize_input=symmetrize_input)
  return _values(found, bool(symmetrize_input))


_RESULT = type(jax.eval_shape(jnp.linalg.eigh, np.zeros((1, 1), np.float32)))
