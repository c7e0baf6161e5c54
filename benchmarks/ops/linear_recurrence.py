# SPDX-License-Identifier: Apache-2.0
"""linear_recurrence along the middle axis, and along the last one."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases.recurrences import combine


def _by_scan(a, b, *, axis=1):
  step = lambda h, x: (x[0] * h + x[1],) * 2
  a, b = jnp.moveaxis(a, axis, 0), jnp.moveaxis(b, axis, 0)
  h = jax.lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1]
  return jnp.moveaxis(h, 0, axis)


def _in_blocks(a, b, *, axis):
  """The best in JAX: a loop over 32 steps of all blocks, and then of blocks."""
  rows, n, columns = b.shape
  if n % 32:
    return _by_scan(a, b, axis=axis)
  a, b = (x.reshape(rows, n // 32, 32, columns) for x in (a, b))
  step = lambda last, x: (combine(last, x),) * 2
  first = (jnp.ones_like(a[:, :, 0]), jnp.zeros_like(b[:, :, 0]))
  xs = jnp.moveaxis(a, 2, 0), jnp.moveaxis(b, 2, 0)
  factors, terms = jax.lax.scan(step, first, xs)[1]
  ends = _by_scan(factors[-1], terms[-1])
  before = jnp.pad(ends[:, :-1], ((0, 0), (1, 0), (0, 0)))
  return jnp.moveaxis(factors * before + terms, 0, 2).reshape(rows, n, columns)


CASE = CASES["linear_recurrence"].beside(
    {"jax.lax.scan": _by_scan, "scan, blocks": _in_blocks}
)
