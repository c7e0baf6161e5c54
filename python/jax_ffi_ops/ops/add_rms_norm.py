# SPDX-License-Identifier: Apache-2.0
"""A residual connection and the root mean square normalization behind it."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit


def add_rms_norm(
    x: jax.Array,
    residual: jax.Array,
    scale: jax.Array | None = None,
    *,
    eps: float = 1e-6,
) -> tuple[jax.Array, jax.Array]:
  """Adds `x` to `residual`, and normalizes the sum like `rms_norm`.

  sum = x + residual
  y = sum / sqrt(mean(sum^2, axis=-1) + eps) * scale

  This is what a transformer does between two layers, in one pass over memory.
  The sum is rounded to the dtype of `x`, and y is that of the rounded sum.

  Args:
    x: array of shape [..., d] and dtype float16, bfloat16, float32 or float64.
    residual: array of the shape and dtype of `x`.
    scale: None, or an array of shape [d] and one of these dtypes, not
      necessarily that of `x`.
    eps: number, zero or positive, known when the function is traced.

  Returns:
    y and sum, both of the shape and dtype of `x`.

  Raises:
    TypeError: an operand is no array of a supported dtype, `residual` has
      another dtype than `x`, or `eps` is no number or a traced one.
    ValueError: `x` is a scalar, an operand has the wrong shape, or `eps` is
      negative or NaN.
  """
  return _add_rms_norm(x, residual, scale, eps=eps)


def _normalize(sum, scale, eps):
  wide = sum.astype(kit.accumulator(sum.dtype))
  rstd = 1 / jnp.sqrt(jnp.mean(wide * wide) + eps.astype(wide.dtype))
  y = wide * rstd * (1 if scale is None else scale)
  return y.astype(sum.dtype), rstd


def _reference(x, residual, scale, *, eps):
  if x.dtype != residual.dtype:
    raise TypeError(
        f"add_rms_norm: residual must have the dtype {x.dtype} of x, got"
        f" {residual.dtype}."
    )
  sum = x + residual
  y, rstd = _normalize(sum, scale, eps)
  return y, sum, rstd


def _backward(scale, sum, dy, dsum, *, eps):
  if scale is None:
    _, vjp = jax.vjp(lambda sum: _normalize(sum, None, eps)[0], sum)
  else:
    _, vjp = jax.vjp(lambda *args: _normalize(*args, eps)[0], sum, scale)
  dx, *dscale = vjp(dy)
  dx = (dx + dsum).astype(sum.dtype)
  return (dx, dx, *dscale)


_add_rms_norm = kit.op(
    "add_rms_norm",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libadd_rms_norm_ext.so"),
        prefix="xla_ffi_ops_",
    ),
    signature="(d),(d),(d)?->(d),(d),()",
    outputs=("y", "sum"),
    residuals=("sum", "rstd"),
    attributes={"eps": kit.Attribute(np.float64, minimum=0)},
    reference=_reference,
    backward=_backward,
    dtypes=kit.FLOATING,
    parameters=("scale",),
    weights={"scale": "x"},
    row_sums=("scale",),
)
kit.public(_add_rms_norm)(add_rms_norm)
