# SPDX-License-Identifier: Apache-2.0
"""solve_banded, two diagonals on each side: SYSTEMSxEQUATIONSxRIGHT-HAND SIDES."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import solve_banded
from operands import array
from operands import Operand

_L, _U = 2, 2


def _without_pivots(ab, b):
  """All systems in lockstep, by loops over the equations."""
  # The first is A[i, i - _L] by equation and system.
  rows = [
      jnp.roll(ab[:, _U + by], by, -1).T[..., None]
      for by in range(_L, -_U - 1, -1)
  ]

  def eliminate(above, row):
    a, r = list(row[:-1]), row[-1]
    for i, (u, from_above) in enumerate(above):  # the farthest first
      factor = a[i] / u[0]
      for c in range(1, _U + 1):
        a[i + c] = a[i + c] - factor * u[c]
      r = r - factor * from_above
    reduced = tuple(a[_L:]), r
    return (*above[1:], reduced), reduced

  def substitute(behind, row):
    u, r = row
    for c in range(_U):
      r = r - u[c + 1] * behind[c]
    x = r / u[0]
    return (x, *behind[:-1]), x

  b = jnp.moveaxis(b, 1, 0)
  one, zero = jnp.ones_like(rows[0][0]), jnp.zeros_like(rows[0][0])
  first = ((one, *[zero] * _U), jnp.zeros_like(b[0]))
  _, reduced = jax.lax.scan(eliminate, (first,) * _L, (*rows, b))
  behind = (jnp.zeros_like(b[0]),) * _U
  x = jax.lax.scan(substitute, behind, reduced, reverse=True)[1]
  return jnp.moveaxis(x, 0, 1)


def _diagonals(key, shape):
  ab = jax.random.uniform(key, shape)
  return ab.at[:, _U].add(4)


def _operands(systems, n, k):
  return Operand((systems, _L + _U + 1, n), _diagonals), array(systems, n, k)


ENTRY = Entry(
    function=lambda ab, b: solve_banded((_L, _U), ab, b),
    operands=_operands,
    sizes=("16x16x1", "64x4096x1", "256x256x16", "4096x256x1"),
    dtypes=("float32", "float64"),
    # ab is five streams of b's size; b, x. Backward: ab, x, dx, dab, db.
    streams={"forward": 7, "backward": 13},
    peers={"no pivots, scan": _without_pivots},
)
