# SPDX-License-Identifier: Apache-2.0
"""Softmax."""

import numbers
import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def softmax(x: jax.Array, *, axis: int = -1) -> jax.Array:
  """Exponentials along an axis, divided by their sum.

  y = exp(x - max(x)) / sum(exp(x - max(x)))

  The values of `jax.nn.softmax`, also for infinities and NaN. Sums are kept in
  float32, for float64 in float64, and the result is rounded once.

  Args:
    x: array of shape [..., d] and dtype float16, bfloat16, float32 or float64.
    axis: the axis of size d; the last one needs no copy.

  Returns:
    An array of the shape and dtype of `x`.

  Raises:
    TypeError: `x` is no array of a supported dtype, or `axis` is no integer.
    ValueError: `x` has no such axis.
  """
  if isinstance(axis, bool) or not isinstance(axis, numbers.Integral):
    raise TypeError(f"softmax: axis must be an integer, got {axis!r}.")
  if axis == -1:
    return _softmax(x)
  if not -jnp.ndim(x) <= axis < jnp.ndim(x):
    raise ValueError(
        f"softmax: axis must be one of the {jnp.ndim(x)} axes of x, got {axis}."
    )
  return jnp.moveaxis(_softmax(jnp.moveaxis(x, axis, -1)), -1, axis)


def _reference(x):
  wide = x.astype(kit.accumulator(x.dtype))
  return jax.nn.softmax(wide).astype(x.dtype)


def _backward(y, dy):
  wide = y.astype(kit.accumulator(y.dtype))
  return wide * (dy - jnp.sum(wide * dy))


_softmax = kit.op(
    "softmax",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libsoftmax_ext.so"),
        prefix="xla_ffi_ops_",
    ),
    signature="(d)->(d)",
    residuals=("y",),
    outputs=("y",),
    reference=_reference,
    backward=_backward,
    dtypes=kit.FLOATING,
)
kit.public(_softmax)(softmax)
