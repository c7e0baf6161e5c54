# SPDX-License-Identifier: Apache-2.0
"""Generalized advantage estimation."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence


@kit.public(*kit.ops_of(linear_recurrence))
def gae(
    rewards: jax.Array,
    discounts: jax.Array,
    values: jax.Array,
    lambda_: jax.Array,
    *,
    axis: int = 0,
) -> jax.Array:
  """Estimates advantages: A[t] = d[t] + discount[t] lambda A[t+1].

  Here d[t] is r[t] + discount[t] v[t+1] - v[t]. See Schulman et al.,
  High-Dimensional Continuous Control Using Generalized Advantage Estimation,
  equation 16. A discount of 0 ends an episode. 16-bit numbers are computed in
  float32, and each result is rounded once.

  Args:
    rewards: a floating-point array with n steps along `axis`.
    discounts: an array that broadcasts to its shape, or a number.
    values: the values of the states: an array like `rewards`, but with n + 1
      steps.
    lambda_: an array or a number, like `discounts`.
    axis: the axis of the steps.

  Returns:
    The advantages, with the shape and dtype of `rewards`.

  Raises:
    TypeError: an operand is no array, or `rewards` is not floating-point.
    ValueError: shapes do not fit, or there is no such axis.
  """
  dtype = jnp.asarray(rewards).dtype
  if not jnp.issubdtype(dtype, jnp.floating):
    raise TypeError(f"gae: rewards must be floating-point, got {dtype}.")
  wide = jnp.promote_types(dtype, np.float32)
  rewards, discounts, values, lambda_ = (
      jnp.asarray(x, wide) for x in (rewards, discounts, values, lambda_)
  )
  shape = list(rewards.shape)
  if not -len(shape) <= axis < len(shape):
    raise ValueError(
        f"gae: rewards of shape {rewards.shape} has no axis {axis}."
    )
  shape[axis] += 1
  if values.shape != tuple(shape):
    raise ValueError(
        f"gae: values must have a step more than rewards along axis {axis},"
        f" got {values.shape} for {rewards.shape}."
    )
  steps = shape[axis] - 1
  before = jax.lax.slice_in_dim(values, 0, steps, axis=axis)
  after = jax.lax.slice_in_dim(values, 1, None, axis=axis)
  delta = rewards + discounts * after - before
  return linear_recurrence(
      discounts * lambda_, delta, axis=axis, reverse=True
  ).astype(dtype)
