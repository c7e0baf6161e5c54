# SPDX-License-Identifier: Apache-2.0
"""Generalized advantage estimation."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence
from jax_ffi_ops.ops.linear_recurrence import step_before
from jax_ffi_ops.ops.linear_recurrence import stretched


def _reference(rewards, discounts, values, lambda_):
  def step(last, x):
    (advantage, value), (r, d, v) = last, x
    advantage = r + d * value - v + d * lambda_ * advantage
    return (advantage, v), advantage

  start = jnp.zeros_like(values[-1]), values[-1]
  numbers = rewards, discounts, values[:-1]
  few = len(rewards) <= 8  # XLA compiles so many steps without a loop.
  return jax.lax.scan(step, start, numbers, reverse=True, unroll=few)[1]


def _backward(discounts, values, lambda_, advantages, dadvantages):
  later = step_before(advantages, 0, reverse=True)
  after, shifted = values[1:], step_before(discounts * lambda_, 0, False)
  # What a step's error is worth in all advantages, and its value.
  error = linear_recurrence(shifted, dadvantages)
  value = error * discounts
  return (
      error,
      error * (after + lambda_ * later),
      jax.lax.pad(value, jnp.zeros((), value.dtype), [(1, 0, 0)])
      - jax.lax.pad(error, jnp.zeros((), error.dtype), [(0, 1, 0)]),
      jnp.sum(value * later),
  )


_gae = kit.op(
    "gae",
    library=libraries.beside(__file__),
    signature="(n,*),(n,*),(n+1,*),(*)->(n,*)",
    reference=_reference,
    dtypes=(np.float32, np.float64),
    operands={
        "discounts": kit.Operand(stretched=True),
        "lambda_": kit.Operand(stretched=True),
    },
    outputs=("advantages",),
    derivatives=kit.Derivatives(backward=_backward, residuals=("advantages",)),
    # Below, a call is most of the time, and XLA unrolls few steps. On a GPU,
    # nobody has measured it.
    choice=kit.Choice(
        is_faster=lambda rewards, *_, n, **__: n >= 32 and rewards.size >= 4096
    ),
)


@kit.public(_gae, *kit.ops_of(linear_recurrence))
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
    TypeError: an operand is no array of real numbers, `rewards` is not
      floating-point, or axis is no integer.
    ValueError: shapes do not fit, or there is no such axis.
  """
  dtype = arguments.floating("gae", "rewards", rewards)
  wide = dtypes.widened(dtype)
  rewards, discounts, values, lambda_ = arguments.real(
      "gae", wide,
      rewards=rewards, discounts=discounts, values=values, lambda_=lambda_,
  )  # fmt: skip
  axis = arguments.axis_of("gae", "rewards", rewards.shape, axis)
  shape = list(rewards.shape)
  shape[axis] += 1
  if values.shape != tuple(shape):
    raise ValueError(
        f"gae: values must have a step more than rewards along axis {axis},"
        f" got {values.shape} for {rewards.shape}."
    )
  if not lambda_.ndim:
    discounts = stretched(discounts, rewards.shape, axis, "gae: discounts")
    return _gae(rewards, discounts, values, lambda_, axis=axis).astype(dtype)
  for name, x in (("discounts", discounts), ("lambda_", lambda_)):
    arguments.padded_shape(f"gae: {name}", x, rewards.shape)
  steps = shape[axis] - 1
  before = jax.lax.slice_in_dim(values, 0, steps, axis=axis)
  after = jax.lax.slice_in_dim(values, 1, None, axis=axis)
  delta = rewards + discounts * after - before
  return linear_recurrence(
      discounts * lambda_, delta, axis=axis, reverse=True
  ).astype(dtype)
