# SPDX-License-Identifier: Apache-2.0
"""Softmax."""

import math

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import namesake
from jax_ffi_ops.ops.common import norms


def _reference(x):
  wide = x.astype(kit.accumulator(x.dtype))
  return jax.nn.softmax(wide).astype(x.dtype)


def _backward(y, dy, *, sum_=jnp.sum):
  accumulator = kit.accumulator(y.dtype)
  y, dy = y.astype(accumulator), dy.astype(accumulator)
  return y * (dy - sum_(y * dy))


def _maximum_and_sum(x):
  wide = x.astype(kit.accumulator(x.dtype))
  most = jnp.max(wide)
  return most, jnp.sum(jnp.exp(wide - _finite(most)))


def _combine(a, b):
  most = jnp.maximum(a[0], b[0])
  a_sum, b_sum = (x * jnp.exp(m - _finite(most)) for m, x in (a, b))
  return most, a_sum + b_sum


def _finite(most):
  """Returns what to subtract before exp, which gives no NaN for -inf."""
  return jnp.where(jnp.isfinite(most), most, 0)


def _apply(x, whole):
  most, total = whole
  total = jnp.where(jnp.isfinite(most), total, jnp.nan)
  return (jnp.exp(x.astype(most.dtype) - most) / total).astype(x.dtype)


def _sum_of_products(y, dy):
  accumulator = kit.accumulator(y.dtype)
  return jnp.sum(y.astype(accumulator) * dy.astype(accumulator))


_split = kit.Split(
    local=_maximum_and_sum,
    identity=lambda: (-jnp.inf, 0),
    combine=_combine,
    apply=_apply,
    backward=kit.Split(
        local=_sum_of_products,
        identity=lambda: 0,
        combine=lambda a, b: (a[0] + b[0],),
        apply=lambda y, dy, whole: _backward(y, dy, sum_=lambda _: whole[0]),
    ),
)

_softmax = kit.op(
    "softmax",
    library=libraries.beside(__file__),
    signature="(d)->(d)",
    outputs=("y",),
    reference=_reference,
    dtypes=kit.FLOATING,
    derivatives=kit.Derivatives(backward=_backward, residuals=("y",)),
    # To see it: //benchmarks:benchmark --at-any-speed
    # --lines=softmax/*/*/*/program. Machines: docs/measurements.md.
    choice=norms.choice({(3, "float32"): 2**14, (4, "float32"): 2**16}),
    buffers=kit.Buffers(in_place={"y": "x"}),
    split=_split,
)


def _over(x, axes, in_place):
  """Returns softmax over some axes, as one at the end."""
  if axes == (x.ndim - 1,):
    return _softmax(x, in_place=in_place)
  last = range(-len(axes), 0)
  moved = jnp.moveaxis(x, axes, last)
  outer, inner = moved.shape[: -len(axes)], moved.shape[-len(axes) :]
  y = _softmax(moved.reshape(*outer, math.prod(inner)), in_place=in_place)
  return jnp.moveaxis(y.reshape(moved.shape), last, axes)


def _is_mask(where, shape):
  """Returns whether a mask has one element, or one for all, of each axis."""
  if where is None or isinstance(where, bool):
    return True
  if getattr(where, "dtype", None) != bool or where.ndim > len(shape):
    return False
  return all(n in (1, full) for n, full in zip(where.shape[::-1], shape[::-1]))


@kit.public(_softmax)
def softmax(
    x: jax.Array,
    axis: int | tuple[int, ...] | None = -1,
    where: jax.Array | None = None,
    *,
    in_place: bool = False,
) -> jax.Array:
  """Turns `x` into positive numbers whose sum is 1, as jax.nn.softmax does.

    y = exp(x - max(x)) / sum(exp(x - max(x)))

  Maximum and sum are along the axis. If an axis has a NaN or an infinite
  maximum, all its results are NaN. Sums are in float32, or in float64 if `x` is
  float64, and the result is rounded once. jax.nn computes arrays of other
  dtypes: integers and complex numbers.

  Args:
    x: array with one axis or more and the dtype float16, bfloat16, float32 or
      float64.
    axis: an integer, several, or None for all. The last axis is the fastest;
      other axes are transposed to the end and back.
    where: an array of bools that broadcasts to the shape of `x`: which elements
      count. The results of others are 0. By default, all count.
    in_place: whether the result may take the memory of `x`, known when the
      function is traced. Say so where `x` is donated, or the carry of a loop.
      XLA copies an `x` that is used again.

  Returns:
    An array of the shape and dtype of `x`.

  Raises:
    TypeError, ValueError: as jax.nn.softmax does; or `in_place` is no bool.
  """
  arguments.check_bool("softmax", "in_place", in_place)
  axes = namesake.axes_of(x, axis, kit.FLOATING)
  if not axes or not _is_mask(where, x.shape):
    return jax.nn.softmax(x, axis, where)
  if where is None:
    return _over(x, axes, in_place)
  y = _over(jnp.where(where, x, -jnp.inf), axes, in_place)
  return jnp.where(where, y, 0)
