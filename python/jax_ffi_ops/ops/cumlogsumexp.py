# SPDX-License-Identifier: Apache-2.0
"""Logarithms of running sums of exponentials."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import scans
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


def _jvp_from(x, start, y, x_dot, start_dot, *, reverse):
  wide = kit.accumulator(x.dtype)
  if x.dtype != wide:  # y is rounded, and exp(x - y) would be far off.
    x, x_dot = x.astype(wide), x_dot.astype(wide)
    if start is None:
      y = _cumlogsumexp(x, reverse=reverse)
    else:
      y = _cumlogsumexp_from(x, start, reverse=reverse)
  # y_dot[t] = exp(y[t-1] - y[t]) y_dot[t-1] + exp(x[t] - y[t]) x_dot[t].
  before = step_before(y, -np.inf if start is None else start, reverse)
  return linear_recurrence(
      _share(before, y), _share(x, y) * x_dot, start_dot, reverse=reverse
  )


def _sum(x):
  x = x.astype(kit.accumulator(x.dtype))
  largest, info = jnp.max(x, initial=-np.inf), jnp.finfo(x.dtype)
  # An infinity minus the largest number is that infinity, and not NaN.
  finite = jnp.clip(largest, info.min, info.max)
  widest = jax.dtypes.canonicalize_dtype(np.float64)
  shares = jnp.sum(jnp.exp(x - finite), dtype=widest)
  return largest + jnp.log(shares).astype(x.dtype)


def _jvp_of_total(x, total, x_dot):
  share = _share(x.astype(total.dtype), total)
  return jnp.sum(share * x_dot.astype(total.dtype))


# jnp.logaddexp has the derivative NaN where both are -inf.
_both = jax.custom_jvp(jnp.logaddexp)


@_both.defjvp
def _(primals, tangents):
  total = _both(*primals)
  shares = (_share(x, total) * x_dot for x, x_dot in zip(primals, tangents))
  return total, sum(shares)


def _is_faster(x, *, n, platform, **_):
  if platform == "cuda":
    return scans.is_faster_on_gpu(x, n)
  # For more, XLA is slower: it adds up all elements before each result.
  return n > 2 and x.size >= 16


_LIBRARY = libraries.beside(__file__)

_cumlogsumexp_from = scans.scan_from_op(
    "cumlogsumexp",
    _LIBRARY,
    jnp.logaddexp,
    kit.FLOATING,
    starts=kit.FLOATING,
    derivatives=kit.Derivatives(jvp=_jvp_from),
)

_total = scans.scan_total_op(
    "cumlogsumexp",
    _LIBRARY,
    _sum,
    kit.FLOATING,
    derivatives=kit.Derivatives(jvp=_jvp_of_total),
)


def _jvp(x, y, x_dot, *, reverse):
  if len(x) > 4:
    return _jvp_from(x, None, y, x_dot, None, reverse=reverse)
  # XLA computes so few steps at once, in one loop: up to here that was faster.
  scan = lambda x: jax.lax.associative_scan(_both, x, reverse=reverse)
  wide = kit.accumulator(x.dtype)
  return jax.jvp(scan, (x.astype(wide),), (x_dot.astype(wide),))[1]


_cumlogsumexp = scans.scan_op(
    "cumlogsumexp",
    library=_LIBRARY,
    allowed=kit.FLOATING,
    is_faster=_is_faster,
    derivatives=kit.Derivatives(jvp=_jvp),
    split=kit.Split(
        local=lambda x, *, reverse: _total(x),
        identity=lambda x, *, reverse: -np.inf,
        combine=lambda a, b, *, reverse: (_both(a[0], b[0]),),
        apply=lambda x, before, after, *, reverse: _cumlogsumexp_from(
            x, (after if reverse else before)[0], reverse=reverse
        ),
    ),
)


@kit.public(
    _cumlogsumexp, _cumlogsumexp_from, _total, *kit.ops_of(linear_recurrence)
)
@scans.of_floats
def cumlogsumexp(
    operand: jax.Array,
    axis: int = 0,
    reverse: bool = False,
    *,
    in_place: bool = False,
) -> jax.Array:
  """Adds up exponentials along an axis: jax.lax.cumlogsumexp, faster on a CPU.

  y[t] is the logarithm of exp(x[0]) + ... + exp(x[t]). No exponential function
  overflows. From the first NaN on, all results are NaN. Handlers keep the sums
  of 16-bit numbers in float32 at least, and round each result once. The result
  does not depend on the number of threads.

  Where y is -inf, the derivative is 0; jax.lax.cumlogsumexp has NaN there.
  """
  return scans.scan(
      _cumlogsumexp, jax.lax.cumlogsumexp, operand, axis, reverse, in_place
  )
