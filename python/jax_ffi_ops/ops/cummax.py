# SPDX-License-Identifier: Apache-2.0
"""Running maxima."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import reductions
from jax_ffi_ops.ops.common import scans
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence
from jax_ffi_ops.ops.linear_recurrence import padded
from jax_ffi_ops.ops.linear_recurrence import step_before


def extremum_from_jvp(start, y, x_dot, start_dot, *, reverse):
  """Each running extremum moves with the element where it came first.

  `start` is at the place before y; what equals it moves with it.
  """
  # By arithmetic: vmap leaves its axes where they are, not so those of where.
  if start is None:
    later, sooner = (y[:-1], y[1:]) if reverse else (y[1:], y[:-1])
  else:
    later, sooner = y, step_before(y, start, reverse)
  same = (later == sooner) | (later != later) & (sooner != sooner)
  keeps, new = (mask.astype(x_dot.dtype) for mask in (same, ~same))
  if start is None:
    keeps, new = (
        padded(mask, fill, 1 - reverse, reverse)
        for fill, mask in enumerate((keeps, new))
    )
  return linear_recurrence(keeps, new * x_dot, start_dot, reverse=reverse)


# So few steps, XLA scans at once, in one loop: up to here that was faster.
_FEW = 32


def _keeps(a, b, sign):
  """Whether a running extremum stays at a, if b is next."""
  return (a <= b if sign > 0 else a >= b) | (a != a)


def extremum_jvp(sign):
  """Returns the rule for minima if `sign` is 1, for maxima if it is -1."""

  def first(a, b):
    return jnp.where(_keeps(a, b, sign), a, b)

  def jvp(x, y, x_dot, *, reverse):
    if len(x) <= _FEW:
      scan = lambda x: jax.lax.associative_scan(first, x, reverse=reverse)
      return jax.jvp(scan, (x,), (x_dot,))[1]
    return extremum_from_jvp(None, y, x_dot, None, reverse=reverse)

  return jvp


def extremum_split(scan_from, sign):
  """Returns how devices scan that each have a piece.

  A state is an extremum, and whether there is one.

  Args:
    scan_from: the op that scans a piece.
    sign: 1 if it finds minima, -1 if it finds maxima.
  """
  reduce, place = (
      (jnp.min, jax.lax.argmin) if sign > 0 else (jnp.max, jax.lax.argmax)
  )

  def first(a, b):
    """Returns that of two states that comes first, unless b is more extreme."""
    keeps = _keeps(a[0], b[0], sign) & (a[1] != 0)
    return jnp.where(keeps, a[0], b[0]), a[1] | b[1]

  @functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
  def total(x, reverse):
    del reverse
    return reductions.extremum(reduce, x)

  @total.defjvp
  def _(reverse, primals, tangents):
    (x,), (x_dot,) = primals, tangents
    if reverse:
      x, x_dot = x[::-1], x_dot[::-1]
    first = place(x, 0, np.int32)
    return total(x, False), x_dot.at[first].get(mode="promise_in_bounds")

  def local(x, *, reverse):
    y = total(x, reverse)
    if jnp.issubdtype(y.dtype, jnp.floating):
      y = y.astype(kit.accumulator(y.dtype))
    return y, np.int32(1)

  def apply(x, before, after, *, reverse):
    carry, is_there = after if reverse else before
    # The first element has its derivative, if nothing comes before it.
    start = jnp.where(
        is_there != 0, carry.astype(x.dtype), x[-1 if reverse else 0]
    )
    return scan_from(x, start, reverse=reverse)

  return kit.Split(
      local=local,
      identity=lambda x, *, reverse: (0, 0),
      combine=lambda a, b, *, reverse: first(b, a) if reverse else first(a, b),
      apply=apply,
  )


_LIBRARY = libraries.beside(__file__)

_cummax_from = scans.scan_from_op(
    "cummax",
    _LIBRARY,
    jnp.maximum,
    derivatives=kit.Derivatives(jvp=extremum_from_jvp),
)

_cummax = scans.scan_op(
    "cummax",
    library=_LIBRARY,
    derivatives=kit.Derivatives(jvp=extremum_jvp(-1)),
    split=extremum_split(_cummax_from, -1),
)


@kit.public(_cummax, _cummax_from, *kit.ops_of(linear_recurrence))
@scans.of_numbers
def cummax(
    operand: jax.Array,
    axis: int = 0,
    reverse: bool = False,
    *,
    in_place: bool = False,
) -> jax.Array:
  """Finds running maxima along an axis: jax.lax.cummax, faster on a CPU.

  From the first NaN on, all results are NaN. If several elements are equal to a
  maximum, only the first of them gets its derivative. (jax.lax.cummax
  splits the derivative among them.)
  """
  return scans.scan(_cummax, jax.lax.cummax, operand, axis, reverse, in_place)
