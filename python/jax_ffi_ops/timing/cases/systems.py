# SPDX-License-Identifier: Apache-2.0
"""Cases of systems of equations, in systems x equations x right-hand sides."""

import jax
import jax.numpy as jnp

import jax_ffi_ops
from jax_ffi_ops.timing.case import ours
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.operands import Array
from jax_ffi_ops.timing.operands import array

_SYSTEMS = dict(
    sizes=("16x16x1", "64x4096x1", "256x256x16", "4096x256x1"),
    dtypes=("float32", "float64"),
)
_L, _U = 2, 2  # diagonals on each side of solve_banded's


def _banded_without_pivots(ab, b):
  """Solves systems [systems, ...] in lockstep, by loops over the equations."""
  # The first is A[i, i - l] by equation and system.
  rows = [
      jnp.roll(ab[:, _U + by], by, -1).T[..., None]
      for by in range(_L, -_U - 1, -1)
  ]

  def eliminate(above, row):
    a, r = list(row[:-1]), row[-1]
    for i, (pivots, from_above) in enumerate(above):  # the farthest first
      factor = a[i] / pivots[0]
      for c in range(1, _U + 1):
        a[i + c] = a[i + c] - factor * pivots[c]
      r = r - factor * from_above
    reduced = tuple(a[_L:]), r
    return (*above[1:], reduced), reduced

  def substitute(behind, row):
    a, r = row
    for c in range(_U):
      r = r - a[c + 1] * behind[c]
    x = r / a[0]
    return (x, *behind)[:_U], x

  b = jnp.moveaxis(b, 1, 0)
  one, zero = jnp.ones_like(rows[0][0]), jnp.zeros_like(rows[0][0])
  first = ((one, *[zero] * _U), jnp.zeros_like(b[0]))
  _, reduced = jax.lax.scan(eliminate, (first,) * _L, (*rows, b))
  behind = (jnp.zeros_like(b[0]),) * _U
  x = jax.lax.scan(substitute, behind, reduced, reverse=True)[1]
  return jnp.moveaxis(x, 0, 1)


def _draw_dominated(key, shape):
  return jax.random.uniform(key, shape).at[:, _U].add(4)


def _banded(systems, n, k):
  diagonals = Array((systems, _L + _U + 1, n), _draw_dominated)
  return diagonals, array(systems, n, k)


def _draw_two(key, shape):
  return 2 + jax.random.uniform(key, shape)


def _tridiagonal(systems, n, k):
  below_one = Array((systems, n), jax.random.uniform)
  diagonal = Array((systems, n), _draw_two)
  return below_one, diagonal, below_one, array(systems, n, k)


CASES = {
    "solve_banded": Timed(
        lambda ab, b: jax_ffi_ops.solve_banded((_L, _U), ab, b),
        {"no pivots, scan": _banded_without_pivots},
        operands=_banded,
        # ab is five streams of b's size; b, x. Backward: ab, x, dx, dab, db.
        streams={"forward": 7, "backward": 13},
        **_SYSTEMS,
    ),
    "tridiagonal_solve": Timed(
        ours("tridiagonal_solve"),
        {"jax.lax.linalg": jax.lax.linalg.tridiagonal_solve},
        operands=_tridiagonal,
        # dl, d, du, b, x; and backward: dl, d, du, x, dx, and four gradients.
        streams={"forward": 5, "backward": 9},
        **_SYSTEMS,
    ),
}
