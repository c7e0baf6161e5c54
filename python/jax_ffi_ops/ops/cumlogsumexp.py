# SPDX-License-Identifier: Apache-2.0
"""Logarithms of running sums of exponentials."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence
from jax_ffi_ops.ops.linear_recurrence import step_before


def _share(lower, upper):
  """Returns exp(lower - upper); of two that are -inf it is 0, of +inf 1."""
  # By clamp: vmap leaves its axes where they are, not so those of where. The
  # limit is just above 0, so that the derivative at 0 is that of exp.
  info = jnp.finfo(upper.dtype)
  limits = info.min, info.max, -np.inf, info.smallest_normal
  low, high, least, above = (jnp.asarray(x, upper.dtype) for x in limits)
  difference = lower - jax.lax.clamp(low, upper, high)
  return jnp.exp(jax.lax.clamp(least, difference, above))


def _jvp(x, y, x_dot, *, reverse):
  wide = kit.accumulator(x.dtype)
  if x.dtype != wide:  # y is rounded, and exp(x - y) would be far off.
    x, x_dot = x.astype(wide), x_dot.astype(wide)
    y = _cumlogsumexp(x, reverse=reverse)
  # y_dot[t] = exp(y[t-1] - y[t]) y_dot[t-1] + exp(x[t] - y[t]) x_dot[t].
  before = step_before(y, -np.inf, reverse)
  return linear_recurrence(
      _share(before, y), _share(x, y) * x_dot, reverse=reverse
  )


def _total(x, *, reverse):
  del reverse
  return _cumlogsumexp(x.astype(kit.accumulator(x.dtype)), reverse=False)[-1]


def _of_piece(x, before, after, *, reverse):
  """What comes before is one more element."""
  (carry,) = after if reverse else before
  parts = x.astype(carry.dtype), carry[None]
  y = _cumlogsumexp(
      jnp.concatenate(parts if reverse else parts[::-1]), reverse=reverse
  )
  return (y[:-1] if reverse else y[1:]).astype(x.dtype)


_cumlogsumexp = kit.scan_op(
    "cumlogsumexp",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libcumlogsumexp_ext.so"),
        prefix="xla_ffi_ops_",
    ),
    allowed=kit.FLOATING,
    jvp=_jvp,
    split=kit.Split(
        local=_total,
        identity=lambda x, *, reverse: -np.inf,
        combine=lambda a, b, *, reverse: (
            _total(jnp.stack([a[0], b[0]]), reverse=reverse),
        ),
        apply=_of_piece,
    ),
)


@kit.public(_cumlogsumexp, *kit.ops_of(linear_recurrence))
def cumlogsumexp(
    operand: jax.Array, axis: int = 0, reverse: bool = False
) -> jax.Array:
  """Adds up exponentials along an axis: jax.lax.cumlogsumexp, faster on a CPU.

  y[t] is the logarithm of exp(x[0]) + ... + exp(x[t]). No exponential function
  overflows. From the first NaN on, all results are NaN. Handlers keep the sums
  of 16-bit numbers in float32 at least, and round each result once. The result
  does not depend on the number of threads.

  Where y is -inf, the derivative is 0; jax.lax.cumlogsumexp has NaN there.

  Args:
    operand: an array. Handlers take float16, bfloat16, float32 and float64, on
      the CPU. jax.lax computes other arrays.
    axis: the axis to go along. Unlike in jax.lax, it may be negative: -1 is the
      last one.
    reverse: whether to go from the last element to the first.

  Returns:
    An array of the shape and dtype of `operand`.

  Raises:
    TypeError, ValueError: as jax.lax.cumlogsumexp does, but not for a negative
      axis.
  """
  return kit.scan(_cumlogsumexp, jax.lax.cumlogsumexp, operand, axis, reverse)
