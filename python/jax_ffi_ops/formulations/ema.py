# SPDX-License-Identifier: Apache-2.0
"""Exponential moving averages."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence
from jax_ffi_ops.ops.linear_recurrence import SMALL


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
  if not -x.ndim <= axis < x.ndim:
    raise ValueError(f"ema: x of shape {x.shape} has no axis {axis}.")
  if not x.size:
    return jnp.zeros(x.shape, dtype)
  if initial is None:
    initial = jax.lax.index_in_dim(
        x, -1 if reverse else 0, axis, keepdims=False
    )
  is_moved = x.size < SMALL and not alpha.ndim
  if is_moved:
    # XLA would multiply and transpose in one loop that is not vectorized, and
    # takes as long as the recurrence.
    x = jax.lax.optimization_barrier(jnp.moveaxis(x, axis, 0))
  y = linear_recurrence(
      1 - alpha, alpha * x, jnp.asarray(initial, wide),
      axis=0 if is_moved else axis, reverse=reverse,
  ).astype(dtype)  # fmt: skip
  return jnp.moveaxis(y, 0, axis) if is_moved else y
