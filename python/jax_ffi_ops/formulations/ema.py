# SPDX-License-Identifier: Apache-2.0
"""Exponential moving averages."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence
from jax_ffi_ops.ops.linear_recurrence import SMALL


def _one_at_first(alpha, shape, axis, reverse):
  """Returns the weights alpha, with 1 for the first step."""
  # To take x[0] instead, JAX refuses where an explicit axis splits the steps.
  steps = [1] * len(shape)
  steps[axis] = shape[axis]
  weights = jnp.broadcast_shapes(alpha.shape, tuple(steps))
  alpha = jnp.broadcast_to(alpha, weights)
  step = jax.lax.broadcasted_iota(
      np.int32,
      weights,
      axis % len(shape),
      out_sharding=jax.typeof(alpha).sharding,
  )
  return jnp.where(step == (steps[axis] - 1 if reverse else 0), 1, alpha)


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
    TypeError: an operand is no array, or x is not floating-point.
    ValueError: shapes do not fit, or there is no such axis.
  """
  dtype = jnp.asarray(x).dtype
  if not jnp.issubdtype(dtype, jnp.floating):
    raise TypeError(f"ema: x must be floating-point, got {dtype}.")
  wide = jnp.promote_types(dtype, np.float32)
  x, alpha = jnp.asarray(x, wide), jnp.asarray(alpha, wide)
  if initial is not None:
    initial = jnp.asarray(initial, wide)
  if not -x.ndim <= axis < x.ndim:
    raise ValueError(f"ema: x of shape {x.shape} has no axis {axis}.")
  if not x.size:
    return jnp.zeros(x.shape, dtype)
  is_moved = x.size < SMALL and not alpha.ndim
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
