# SPDX-License-Identifier: Apache-2.0
"""Exponential moving averages."""

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence
from jax_ffi_ops.ops.linear_recurrence import SMALL


def _one_at_first(alpha, shape, axis, reverse):
  """Returns the weights alpha, with 1 for the first step."""
  # Not x[0]: JAX refuses it where an explicit axis splits the steps.
  n = shape[axis]
  steps = jnp.arange(n) == (n - 1 if reverse else 0)
  steps = steps.reshape([-1 if i == axis else 1 for i in range(len(shape))])
  alpha = jnp.broadcast_to(
      alpha, jnp.broadcast_shapes(alpha.shape, steps.shape)
  )
  # Split as alpha is: `where` demands that.
  return jnp.where(jnp.zeros_like(alpha, bool) | steps, 1, alpha)


@kit.public(*kit.ops_of(linear_recurrence))
def ema(
    x: jax.Array,
    alpha: jax.Array,
    initial: jax.Array | None = None,
    *,
    axis: int = -1,
    reverse: bool = False,
) -> jax.Array:
  """Averages along an axis: y[t] = (1 - alpha) y[t-1] + alpha x[t].

  This is pandas' ewm with adjust=False. It computes 16-bit numbers in float32,
  and rounds each result once.

  Args:
    x: a floating-point array.
    alpha: the weight of the new element: an array that broadcasts to the shape
      of x, or a number.
    initial: the average before the first element: an array of x's shape without
      `axis`. By default it is the first element; the first average is then the
      same.
    axis: the axis to go along.
    reverse: whether to go from the last element to the first.

  Returns:
    The averages y, with the shape and dtype of x.

  Raises:
    TypeError: an operand is no array of real numbers, x is not floating-point,
      axis is no integer, or reverse no bool.
    ValueError: shapes do not fit, or there is no such axis.
  """
  dtype = arguments.floating("ema", "x", x)
  arguments.check_bool("ema", "reverse", reverse)
  wide = dtypes.widened(dtype)
  x, alpha = arguments.real("ema", wide, x=x, alpha=alpha)
  axis = arguments.axis_of("ema", "x", x.shape, axis)
  own = arguments.padded_shape("ema: alpha", alpha, x.shape)
  if alpha.ndim:
    alpha = alpha.reshape(own)
  if initial is not None:
    (initial,) = arguments.real("ema", wide, initial=initial)
    arguments.check_start("ema: initial", initial, x.shape, axis)
  if not x.size:
    return jnp.zeros(x.shape, dtype)
  # A symbolic size may be large.
  is_small = isinstance(x.size, int) and x.size < SMALL
  is_moved = is_small and not alpha.ndim
  if is_moved:
    # XLA would multiply and transpose in one loop that is not vectorized, and
    # takes as long as the recurrence.
    x = jax.lax.optimization_barrier(jnp.moveaxis(x, axis, 0))
  along = 0 if is_moved else axis
  weight = alpha
  if initial is None:
    weight = _one_at_first(alpha, x.shape, along, reverse)
  y = linear_recurrence(
      1 - alpha, weight * x, initial, axis=along, reverse=reverse
  )
  y = y.astype(dtype)
  return jnp.moveaxis(y, 0, axis) if is_moved else y
