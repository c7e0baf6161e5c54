# SPDX-License-Identifier: Apache-2.0
"""How devices compute linear recurrences that each have a piece of the steps.

A piece makes A h + B of what h is before it. A is the product of its factors,
kept as m 2^e: it may overflow where A h does not.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.declare.split import Split


def _two_to_the(e):
  bits = (e + 1023) << 52
  return jax.lax.bitcast_convert_type(bits, np.float64)


def _scaled(x, e):
  """Returns x 2^e, by halves: 2^e may overflow where the result does not."""
  e = jnp.clip(e, -2044, 2046)
  half = e // 2
  return x * _two_to_the(half) * _two_to_the(e - half)


def _parted(x):
  """Returns m and e with m 2^e = x, and m of 0.5 to 1.5, 0, inf or NaN."""
  size = x
  if jnp.iscomplexobj(x):
    size = jnp.maximum(abs(x.real), abs(x.imag))
  # jax 0.12 traces jnp.frexp when a split program is lowered, without x64.
  bits = jax.lax.bitcast_convert_type(size, np.int64)
  e = (bits >> 52 & 0x7FF) - 1022
  return _scaled(x, -e), e


def _folded(x, count):
  """Returns products of `count` numbers each.

  They are reductions: XLA would move what is elementwise to the memory layout
  that it chooses for the exchange of states, which transposes a piece.
  """
  count = min(count, x.size)
  size = -(-x.size // count)
  if size * count > x.size:
    x = jnp.pad(x, (0, size * count - x.size), constant_values=1)
  return jnp.prod(x.reshape(size, count), 1)


def _product(x, widest):
  """Returns the product of numbers as m and e."""
  # Those of 32 bits and fewer do not overflow.
  x = _folded(x.astype(widest), 1 if x.dtype == widest else 4)
  exponent = 0
  while True:
    x, e = _parted(x)
    exponent += jnp.sum(e)
    if x.size == 1:
      return x[0], exponent
    x = _folded(x, 32)


def _after(state, h):
  """Returns what h is after a piece, given what it is before."""
  m, e, b = state
  return _scaled(m * h, e.real.astype(np.int64)) + b


def _then(first, second, reverse):
  """Returns the state of two pieces, of which `reverse` swaps the order."""
  if reverse:
    first, second = second, first
  m, e = _parted(first[0] * second[0])
  return m, e + first[1] + second[1], _after(second, first[2])


def _alike(m, *others):
  """Returns a state whose numbers have one dtype: one exchange takes them all."""
  return m, *(x.astype(m.dtype) for x in others)


def ends(
    recurrence: Callable[..., Any], passed_on: Callable[..., Any]
) -> Callable[..., Any]:
  """Returns the function of a, b, reverse and shifted that returns m, e and B.

  Args:
    recurrence: the op.
    passed_on: of a, h, reverse and shifted, what the last step gives to one
      behind it.
  """

  def end(a, b, *, reverse, shifted):
    a, b = _wide(a), _wide(b)
    h = recurrence(a, b, reverse=reverse, shifted=shifted)
    widest = jnp.promote_types(h.dtype, np.float64)
    if not len(h):
      return jnp.ones((), widest), np.int64(0), jnp.zeros((), widest)
    last = passed_on(a, h, reverse, shifted).astype(widest)
    return *_product(a, widest), last

  return end


def split(
    recurrence: Callable[..., Any],
    end: Callable[..., Any],
    gradients: Callable[..., Any],
) -> Split:
  """Returns the rule.

  Args:
    recurrence: the op, whose h0 may be float32 where b has 16 bits.
    end: what a piece makes of h before it.
    gradients: the cotangents of a and b; see linear_recurrence.py.
  """

  def apply(a, b, h0, before, after, *, reverse, shifted):
    carry = after if reverse else before
    start = carry[2] if h0 is None else _after(carry, h0.astype(carry[2].dtype))
    start = start.astype(_wide_dtype(b))
    return recurrence(a, b, start, reverse=reverse, shifted=shifted)

  # Backward, a state has two numbers more: h at its end, and a count of pieces.
  def state_backward(a, h, dh, *, reverse, shifted):
    last = h[0 if reverse else -1]
    own = end(a, dh, reverse=not reverse, shifted=not shifted)
    return _alike(*own, last, np.int32(1))

  def combine_backward(x, y, *, reverse, shifted):
    del shifted
    sooner, later = (y, x) if reverse else (x, y)
    last = jnp.where(later[4] != 0, later[3], sooner[3])
    return *_then(x[:3], y[:3], not reverse), last, x[4] + y[4]

  def apply_backward(a, h0, h, dh, before, after, whole, *, reverse, shifted):
    sooner, later = (after, before) if reverse else (before, after)
    given = jnp.zeros_like(h[0]) if h0 is None else h0
    start = jnp.where(sooner[4] != 0, sooner[3].astype(h.dtype), given)
    end = later[2].astype(_wide_dtype(dh))
    da, db = gradients(a, h, dh, start, end, reverse, shifted)
    return da, db, None if h0 is None else whole[2].astype(dh.dtype)

  return Split(
      local=lambda a, b, **attributes: _alike(*end(a, b, **attributes)),
      identity=lambda *, reverse, shifted: (1, 0, 0),
      combine=lambda x, y, *, reverse, shifted: _then(x, y, reverse),
      apply=apply,
      backward=Split(
          local=state_backward,
          identity=lambda *, reverse, shifted: (1, 0, 0, 0, 0),
          combine=combine_backward,
          apply=apply_backward,
      ),
  )


def _wide_dtype(x):
  return jnp.promote_types(x.dtype, np.float32)


def _wide(x):
  return x.astype(_wide_dtype(x))
