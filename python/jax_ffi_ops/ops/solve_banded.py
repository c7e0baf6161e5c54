# SPDX-License-Identifier: Apache-2.0
"""Banded systems of linear equations."""

from collections.abc import Sequence
import numbers

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.kit.operands import call_of
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.tridiagonal_solve import shifted
from jax_ffi_ops.ops.tridiagonal_solve import tridiagonal_solve


def _rows(ab, lower):
  """Returns row i of A from column i - lower on, and zeros where A ends."""
  d, n = ab.shape
  c = jnp.arange(d)
  columns = jnp.arange(n)[:, None] + c - lower
  inside = (columns >= 0) & (columns < n)
  return jnp.where(inside, ab[d - 1 - c, jnp.clip(columns, 0, n - 1)], 0)


def _eliminate(window, entering):
  """One step of a window of rows, all from the same column on."""
  rows, b = window
  first = rows[:, 0]
  pivot = jnp.argmax(jnp.abs(first.real) + jnp.abs(first.imag))
  order = jnp.arange(len(rows)).at[0].set(pivot).at[pivot].set(0)
  rows, b = rows[order], b[order]
  factors = rows[1:, :1] / rows[0, 0]
  moved = (rows[1:] - factors * rows[0])[:, 1:]
  below = jnp.pad(moved, [(0, 0), (0, 1)]), b[1:] - factors * b[0]
  window = [jnp.concatenate([x, y[None]]) for x, y in zip(below, entering)]
  return tuple(window), (rows[0], b[0])


def _substitute(behind, row):
  """One step from the end, with the results behind it."""
  u, b = row
  x = (b - jnp.sum(u[1:, None] * behind, axis=0)) / u[0]
  return jnp.concatenate([x[None], behind])[: len(behind)], x


def _reference(ab, b, *, upper):
  if upper >= len(ab):
    raise ValueError(f"solve_banded: {upper} of {len(ab)} diagonals are upper")
  if not b.size:
    return b
  n, k = b.shape
  lower, upper, first = len(ab) - 1 - upper, min(upper, n - 1), upper
  lower = min(lower, n - 1)
  rows = _rows(ab[first - upper : first + lower + 1], lower)
  operands = [jnp.pad(x, [(0, lower + 1), (0, 0)]) for x in (rows, b)]
  # The rows above come from column 0 on.
  skipped = jnp.arange(lower, -1, -1)[:, None] + jnp.arange(rows.shape[1])
  top = jnp.pad(operands[0][: lower + 1], [(0, 0), (0, lower)])
  window = jnp.take_along_axis(top, skipped, 1), operands[1][: lower + 1]
  entering = tuple(x[lower + 1 :] for x in operands)
  _, (u, b) = jax.lax.scan(_eliminate, window, entering)
  # In a shard_map, zeros have to vary over its axes as b does.
  behind = jnp.broadcast_to(jnp.zeros_like(b[0]), (rows.shape[1] - 1, k))
  x = jax.lax.scan(_substitute, behind, (u, b), reverse=True)[1]
  return jnp.where(jnp.any(u[:, 0] == 0), jnp.nan, x)


def _backward(ab, x, dx, *, upper):
  lower = len(ab) - 1 - upper
  # The transpose has the diagonals in each other's place.
  flipped = [shifted(row, lower - r) for r, row in enumerate(ab[::-1])]
  db = _solve(jnp.stack(flipped), dx, upper=lower)
  # That of A[i, j] is -db[i] x[j], added up over right-hand sides.
  dab = [-jnp.sum(shifted(db, upper - r) * x, axis=1) for r in range(len(ab))]
  return jnp.stack(dab), db


_solve = kit.op(
    "solve_banded",
    library=libraries.beside(__file__),
    # A[i, j] is ab[upper + i - j, j].
    signature="(d,n),(n,k)->(n,k)",
    attributes={"upper": kit.Attribute(np.int64, minimum=0)},
    reference=_reference,
    dtypes=(np.float32, np.float64, np.complex64, np.complex128),
    outputs=("x",),
    derivatives=kit.Derivatives(backward=_backward, residuals=("x",)),
)


@kit.public(_solve, *kit.ops_of(tridiagonal_solve))
def solve_banded(
    l_and_u: Sequence[int],
    ab: jax.Array,
    b: jax.Array,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> jax.Array:
  """Solves banded systems, A x = b, in place of scipy.linalg.solve_banded.

  The algorithm is Gaussian elimination
  with partial pivoting, with the pivots of LAPACK's gbsv. Lanes of vectors
  solve many systems with few right-hand sides at once. Gradients solve one more
  system, with the transpose of A. Systems with one diagonal on each side of the
  main one go to `tridiagonal_solve`.

  Args:
    l_and_u: the numbers of diagonals below the main one and above it, l and u.
    ab: the diagonals, of shape [..., l + u + 1, n]: A[i, j] is
      ab[u + i - j, j]. Elements outside of A are not read.
    b: the right-hand sides, of shape [..., n, k]; or one for all systems, of
      shape [n].
    overwrite_ab: has no effect: jax's arrays do not change.
    overwrite_b: likewise.
    check_finite: has no effect, as in jax.scipy.linalg: a NaN makes results
      NaN, and nothing is raised.

  Returns:
    x, an array of the shape of `b`, with the leading axes of `ab`, too, of the
    floating-point or complex dtype that `ab` and `b` promote to. If A is
    singular in the arithmetic of this dtype, x is NaN; SciPy raises
    LinAlgError. 16-bit numbers are computed in float32.

  Raises:
    TypeError: ab or b are no arrays of numbers, or l or u no integers.
    ValueError: shapes do not fit, or l or u are negative.
  """
  del overwrite_ab, overwrite_b, check_finite
  try:
    lower, upper = l_and_u
  except (TypeError, ValueError) as error:
    raise type(error)(
        f"solve_banded: l_and_u must be two integers, got {l_and_u!r}."
    ) from error
  if not all(isinstance(x, numbers.Integral) for x in (lower, upper)):
    raise TypeError(
        f"solve_banded: l and u must be integers, got {lower!r}, {upper!r}."
    )
  ab = arguments.array("solve_banded", "ab", ab)
  b = arguments.array("solve_banded", "b", b)
  dtype = jnp.result_type(ab, b)
  if dtype == bool or not jnp.issubdtype(dtype, np.number):
    raise TypeError(f"solve_banded: ab and b must be numbers, got {dtype}.")
  if min(lower, upper) < 0 or ab.ndim < 2 or ab.shape[-2] != lower + upper + 1:
    raise ValueError(
        f"solve_banded: ab must have l + u + 1 rows, for l, u ="
        f" {lower, upper}, got shape {ab.shape}."
    )
  wide = dtypes.widened(dtype)
  if not jnp.issubdtype(dtype, np.inexact):
    dtype = wide
  ab, b = ab.astype(wide), b.astype(wide)
  rhs = b[:, None] if b.ndim == 1 else b
  if lower == upper == 1 and ab.shape[-1]:
    call_of(_solve.declaration, (ab, rhs), {"upper": 1})  # For its messages.
    # By lax.pad: jnp.roll is refused where an explicit axis splits equations.
    zero, others = jnp.zeros((), wide), [(0, 0, 0)] * (ab.ndim - 2)
    dl = jax.lax.pad(ab[..., 2, :], zero, [*others, (1, -1, 0)])
    du = jax.lax.pad(ab[..., 0, :], zero, [*others, (-1, 1, 0)])
    x = tridiagonal_solve(dl, ab[..., 1, :], du, rhs)
  else:
    x = _solve(ab, rhs, upper=int(upper))
  return (x[..., 0] if b.ndim == 1 else x).astype(dtype)
