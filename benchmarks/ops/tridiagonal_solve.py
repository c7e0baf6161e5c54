# SPDX-License-Identifier: Apache-2.0
"""tridiagonal_solve of many systems."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES


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


CASE = CASES["tridiagonal_solve"].beside({"Thomas, scan": _thomas})
