# SPDX-License-Identifier: Apache-2.0
"""linear_recurrence along the middle axis, and along the last one."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import linear_recurrence
from operands import array
from operands import Operand


def _combine(first, second):
  return first[0] * second[0], second[0] * first[1] + second[1]


def _by_scan(a, b):
  step = lambda h, x: (x[0] * h + x[1],) * 2
  a, b = jnp.moveaxis(a, 1, 0), jnp.moveaxis(b, 1, 0)
  h = jax.lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1]
  return jnp.moveaxis(h, 0, 1)


def _in_blocks(a, b):
  """The best in JAX: a loop over 32 steps of all blocks, and then of blocks."""
  rows, n, columns = b.shape
  if n % 32:
    return _by_scan(a, b)
  a, b = (x.reshape(rows, n // 32, 32, columns) for x in (a, b))
  step = lambda last, x: (_combine(last, x),) * 2
  first = (jnp.ones_like(a[:, :, 0]), jnp.zeros_like(b[:, :, 0]))
  xs = jnp.moveaxis(a, 2, 0), jnp.moveaxis(b, 2, 0)
  factors, terms = jax.lax.scan(step, first, xs)[1]
  ends = _by_scan(factors[-1], terms[-1])
  before = jnp.pad(ends[:, :-1], ((0, 0), (1, 0), (0, 0)))
  return jnp.moveaxis(factors * before + terms, 0, 2).reshape(rows, n, columns)


def _factors(*shape):
  """Numbers in [0.5, 1)."""
  return Operand(
      shape, lambda key, shape: jax.random.uniform(key, shape, minval=0.5)
  )


ENTRY = Entry(
    function=lambda a, b: linear_recurrence(a, b, axis=1),
    operands=lambda *shape: (_factors(*shape), array(*shape)),
    sizes=("2x32x8", "8x256x64", "64x16384x1", "1x1048576x1", "8x2048x512"),
    # Forward a, b, h; backward a, h, dh, da, db.
    streams={"forward": 3, "backward": 5},
    peers={
        "associative_scan": lambda a, b: jax.lax.associative_scan(
            _combine, (a, b), axis=1
        )[1],
        "jax.lax.scan": _by_scan,
        "scan, blocks": _in_blocks,
    },
)
