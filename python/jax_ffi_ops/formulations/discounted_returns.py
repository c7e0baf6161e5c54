# SPDX-License-Identifier: Apache-2.0
"""Discounted sums of rewards."""

import jax

from jax_ffi_ops import kit
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
  discount of 0 ends an episode.

  Args:
    rewards: a floating-point array with the steps along `axis`.
    discounts: an array of its dtype that broadcasts to its shape, or a number.
    bootstrap: the return after the last step, such as the values of the last
      states: an array of the shape of `rewards` without `axis`. By default,
      zeros.
    axis: the axis of the steps.

  Returns:
    The returns G, with the shape and dtype of `rewards`.

  Raises:
    TypeError, ValueError: as linear_recurrence does; discounts, rewards and
    bootstrap are its a, b and h0.
  """
  return linear_recurrence(
      discounts, rewards, bootstrap, axis=axis, reverse=True
  )
