# SPDX-License-Identifier: Apache-2.0
"""Discounted sums of rewards."""

import jax

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence


@kit.public(*kit.ops_of(linear_recurrence))
def discounted_returns(
    rewards: jax.Array,
    discounts: jax.Array,
    bootstrap: jax.Array | None = None,
    *,
    axis: int = 0,
) -> jax.Array:
  """Sums rewards from the last step on: G[t] = r[t] + discount[t] G[t+1].

  See Sutton and Barto, Reinforcement Learning, 2nd edition, equation 3.9. A
  discount of 0 ends an episode. 16-bit numbers are computed in float32, and each
  result is rounded once.

  Args:
    rewards: a floating-point array with the steps along `axis`.
    discounts: an array that broadcasts to its shape, or a number.
    bootstrap: the return after the last step, such as the values of the last
      states: an array of the shape of `rewards` without `axis`. By default,
      zeros.
    axis: the axis of the steps.

  Returns:
    The returns G, with the shape and dtype of `rewards`.

  Raises:
    TypeError: an operand is no array of real numbers, `rewards` is not
      floating-point, or axis is no integer.
    ValueError: shapes do not fit, or there is no such axis.
  """
  name = "discounted_returns"
  dtype = arguments.floating(name, "rewards", rewards)
  wide = dtypes.widened(dtype)
  rewards, discounts = arguments.real(
      name, wide, rewards=rewards, discounts=discounts
  )
  axis = arguments.axis_of(name, "rewards", rewards.shape, axis)
  arguments.padded_shape(f"{name}: discounts", discounts, rewards.shape)
  if bootstrap is not None:
    (bootstrap,) = arguments.real(name, wide, bootstrap=bootstrap)
    arguments.check_start(f"{name}: bootstrap", bootstrap, rewards.shape, axis)
  returns = linear_recurrence(
      discounts, rewards, bootstrap, axis=axis, reverse=True
  )
  return returns.astype(dtype)
