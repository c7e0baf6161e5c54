# SPDX-License-Identifier: Apache-2.0
"""tridiagonal_solve: SYSTEMSxEQUATIONSxRIGHT-HAND SIDES."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import tridiagonal_solve
from operands import array
from operands import Operand


def _thomas(dl, d, du, b):
  """Without pivots, all systems in lockstep."""

  def eliminate(above, row):
    c, r = above
    dl, d, du, b = row
    pivot = d - dl * c
    c, r = du / pivot, (b - dl[:, None] * r) / pivot[:, None]
    return (c, r), (c, r)

  def substitute(x, row):
    x = row[1] - row[0][:, None] * x
    return x, x

  rows = [jnp.moveaxis(x, 1, 0) for x in (dl, d, du, b)]
  first = jnp.zeros_like(rows[0][0]), jnp.zeros_like(rows[3][0])
  _, upper = jax.lax.scan(eliminate, first, rows)
  x = jax.lax.scan(substitute, first[1], upper, reverse=True)[1]
  return jnp.moveaxis(x, 0, 1)


def _operands(systems, n, k):
  below_one = Operand((systems, n), jax.random.uniform)
  two = lambda key, shape: 2 + jax.random.uniform(key, shape)
  diagonal = Operand((systems, n), two)
  return below_one, diagonal, below_one, array(systems, n, k)


ENTRY = Entry(
    function=tridiagonal_solve,
    operands=_operands,
    sizes=("16x16x1", "64x4096x1", "256x256x16", "4096x256x1"),
    dtypes=("float32", "float64"),
    # dl, d, du, b, x; and backward: dl, d, du, x, dx, and four gradients.
    streams={"forward": 5, "backward": 9},
    peers={
        "jax.lax.linalg": jax.lax.linalg.tridiagonal_solve,
        "Thomas, scan": _thomas,
    },
)
