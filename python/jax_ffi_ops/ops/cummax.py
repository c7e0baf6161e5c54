# SPDX-License-Identifier: Apache-2.0
"""Running maxima."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit


def _first_places(x, y, reverse):
  """Returns where each of the running extrema `y` of `x` came first."""
  n = x.shape[0]
  if n == 0:
    return jnp.zeros(0, np.int32)
  start = x[-1:] if reverse else x[:1]
  before = jnp.concatenate([y[1:], start] if reverse else [start, y[:-1]])
  place = jnp.arange(n, dtype=np.int32)
  # An element is new if it differs from the extremum before it; NaN, once.
  is_new = (x == y) & (x != before) | jnp.isnan(x) & ~jnp.isnan(before)
  if reverse:
    return n - 1 - _cummax(jnp.where(is_new, n - 1 - place, 0), reverse=True)
  return _cummax(jnp.where(is_new, place, 0), reverse=False)


def extremum_jvp(x, y, x_dot, *, reverse):
  places = _first_places(x, y, reverse)
  return x_dot.at[places].get(mode="promise_in_bounds")


def extremum_split(scan, sign):
  """Returns how devices scan that each have a piece.

  A state is an extremum, and whether there is one.

  Args:
    scan: the op.
    sign: 1 if it finds minima, -1 if it finds maxima.
  """

  def first(a, b):
    """Returns that of two states that comes first, unless b is more extreme."""
    keeps = (a[0] <= b[0] if sign > 0 else a[0] >= b[0]) | (a[0] != a[0])
    keeps &= a[1] != 0
    return jnp.where(keeps, a[0], b[0]), a[1] | b[1]

  def local(x, *, reverse):
    y = scan(x, reverse=reverse)[0 if reverse else -1]
    if jnp.issubdtype(y.dtype, jnp.floating):
      y = y.astype(kit.accumulator(y.dtype))
    return y, np.int32(1)

  def apply(x, before, after, *, reverse):
    y = scan(x, reverse=reverse)
    carry = after if reverse else before
    return first(carry, (y.astype(carry[0].dtype), 0))[0].astype(x.dtype)

  return kit.Split(
      local=local,
      identity=lambda x, *, reverse: (0, 0),
      combine=lambda a, b, *, reverse: first(b, a) if reverse else first(a, b),
      apply=apply,
  )


_cummax = kit.scan_op(
    "cummax",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libcummax_ext.so"),
        prefix="xla_ffi_ops_",
    ),
    jvp=extremum_jvp,
    split=extremum_split(lambda *x, **y: _cummax(*x, **y), -1),
)


@kit.public(_cummax)
def cummax(
    operand: jax.Array, axis: int = 0, reverse: bool = False
) -> jax.Array:
  """Finds running maxima along an axis: jax.lax.cummax, faster on a CPU.

  From the first NaN on, all results are NaN. If several elements are equal to a
  maximum, only the first of them gets its derivative. (jax.lax.cummax
  splits the derivative among them.)

  Args:
    operand: an array. Handlers take int8 to int64, uint8 to uint64, float16,
      bfloat16, float32 and float64, on the CPU. jax.lax computes other arrays.
    axis: the axis to go along. Unlike in jax.lax, it may be negative: -1 is the
      last one.
    reverse: whether to go from the last element to the first.

  Returns:
    An array of the shape and dtype of `operand`.

  Raises:
    TypeError, ValueError: as jax.lax.cummax does, but not for a negative axis.
  """
  return kit.scan(_cummax, jax.lax.cummax, operand, axis, reverse)
