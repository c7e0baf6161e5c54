# SPDX-License-Identifier: Apache-2.0
"""Tridiagonal systems of linear equations."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries


def shifted(x: jax.Array, by: int) -> jax.Array:
  """Returns, for each i, x[i - by], and zeros where there is none."""
  # vmap leaves the axes of lax.pad where they are, not so of concatenate.
  rest = [(0, 0, 0)] * (x.ndim - 1)
  return jax.lax.pad(x, jnp.zeros((), x.dtype), [(by, -by, 0), *rest])


def _reference(dl, d, du, b):
  if not b.size:
    return b
  return jax.lax.linalg.tridiagonal_solve(dl, d, du, b)


def _backward(dl, d, du, x, dx):
  if not x.size:
    return (jnp.zeros_like(d),) * 3 + (dx,)
  # The transpose has the diagonals in each other's place.
  db = _solve(shifted(du, 1), d, shifted(dl, -1), dx)
  ddl, dd, ddu = (-jnp.sum(db * shifted(x, by), axis=1) for by in (1, 0, -1))
  return ddl, dd, ddu, db


_solve = kit.op(
    "tridiagonal_solve",
    library=libraries.beside(__file__),
    signature="(n),(n),(n),(n,k)->(n,k)",
    reference=_reference,
    dtypes=(np.float32, np.float64, np.complex64, np.complex128),
    outputs=("x",),
    derivatives=kit.Derivatives(backward=_backward, residuals=("x",)),
    # For fewer right-hand sides, LAPACK is as fast. To see it:
    # //benchmarks:benchmark --at-any-speed --lines=tridiagonal_solve
    choice=kit.Choice(
        is_faster=lambda dl, d, du, b, **_: b.size >= 8 * b.shape[-2]
    ),
)


@kit.public(_solve)
def tridiagonal_solve(
    dl: jax.Array,
    d: jax.Array,
    du: jax.Array,
    b: jax.Array,
    *,
    perturb_singular: bool = False,
) -> jax.Array:
  """Solves tridiagonal systems, A x = b: jax.lax.linalg.tridiagonal_solve.

  The algorithm is the same,
  LAPACK's gtsv: Gaussian elimination with partial pivoting. So pivots may be
  zero, and A need not be diagonally dominant. Lanes of vectors solve many
  systems with few right-hand sides at once.
  Gradients solve one more system, with the transpose of A.

  Args:
    dl: the diagonal below the main one, of shape [..., n], and dtype float32,
      float64, complex64 or complex128: dl[i] is A[i, i-1]. dl[0] is not read.
    d: the main diagonal, of the same shape and dtype.
    du: the diagonal above it: du[i] is A[i, i+1]. du[n-1] is not read.
    b: the right-hand sides, of shape [..., n, k].
    perturb_singular: whether to change pivots near 0, so that singular systems
      have a finite result. jax.lax.linalg computes such calls, from jax 0.10
      on.

  Returns:
    x, an array of the shape and dtype of `b`. If A is singular in the
    arithmetic of its dtype, x is NaN.

  Raises:
    TypeError: an operand is no array, has an unsupported dtype, or another
      dtype than dl; or jax has no `perturb_singular`.
    ValueError: shapes do not fit.
  """
  if perturb_singular is not False:
    return jax.lax.linalg.tridiagonal_solve(
        dl, d, du, b, perturb_singular=perturb_singular
    )
  return _solve(dl, d, du, b)
