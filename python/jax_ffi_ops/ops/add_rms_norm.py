# SPDX-License-Identifier: Apache-2.0
"""A residual connection and root mean square normalization in one pass."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import norms


def _rstd(wide, eps):
  return 1 / jnp.sqrt(jnp.mean(wide * wide) + eps)


def _rounded(x):
  """Returns x as it is in memory: XLA may go on with more of its bits."""
  info = jnp.finfo(x.dtype)
  return jax.lax.reduce_precision(x, info.nexp, info.nmant)


def _reference(x, residual, scale, *, eps):
  total = _rounded(x + residual)  # It is what callers get.
  wide = total.astype(kit.accumulator(x.dtype))
  rstd = _rstd(wide, eps)
  y = wide * rstd
  if scale is not None:
    y = y * scale
  return y.astype(x.dtype), total, rstd


def _backward(scale, sum, rstd, dy, dsum, *, eps):  # pylint: disable=redefined-builtin
  del rstd  # A function of the sum, with derivatives of its own.
  wide = sum.astype(kit.accumulator(sum.dtype))
  rstd = _rstd(wide, eps)
  unit = wide * rstd
  dunit = dy.astype(wide.dtype)
  dscale = None
  if scale is not None:
    dscale = dunit * unit
    dunit = dunit * scale
  dx = rstd * (dunit - unit * jnp.mean(dunit * unit)) + dsum
  return dx, dx, dscale


_add_rms_norm = kit.op(
    "add_rms_norm",
    library=libraries.beside(__file__),
    signature="(d),(d),(d)?->(d),(d),()",
    outputs=("y", "sum"),
    attributes={"eps": kit.Attribute(np.float64, minimum=0)},
    reference=_reference,
    dtypes={"x": kit.FLOATING, "residual": "x", "scale": kit.FLOATING},
    operands={"scale": norms.WEIGHT},
    derivatives=kit.Derivatives(
        backward=_backward, residuals=("sum", "rstd"), skips_gradients=True
    ),
    choice=norms.choice({(4, "float32"): 2**16}),
    buffers=kit.Buffers(in_place={"y": "x", "sum": "residual"}),
)


@kit.public(_add_rms_norm)
def add_rms_norm(
    x: jax.Array,
    residual: jax.Array,
    scale: jax.Array | None = None,
    *,
    eps: float = norms.EPS,
    in_place: bool = False,
) -> tuple[jax.Array, jax.Array]:
  """Adds two arrays and divides the last axis by its root mean square.

    sum = x + residual
    y = sum / sqrt(mean(sum^2, axis=-1) + eps) * scale

  The next layer takes `y`, the next residual connection `sum`. Both are
  computed from the sum as rounded to its dtype. Sums over the last axis are in
  float32, or in float64 if `x` is float64, and `y` is rounded once. From Zhang
  and Sennrich, "Root Mean Square Layer Normalization" (arXiv:1910.07467).

  Args:
    x: array of shape [..., d] and dtype float16, bfloat16, float32 or float64.
    residual: array of the shape and dtype of `x`.
    scale: None, or an array of shape [d] and one of these dtypes; it may
      differ from the dtype of `x`.
    eps: number, zero or positive, known when the function is traced.
    in_place: whether `y` may take the memory of `x`, and `sum` that of
      `residual`, known when the function is traced. Say so where these are
      donated, or carries of a loop. XLA copies what is used again.

  Returns:
    `y` and `sum`, arrays of the shape and dtype of `x`.

  Raises:
    TypeError: `x`, `residual` or `scale` is no array of a supported dtype, the
      dtypes of `x` and `residual` differ, `eps` is no number or is traced, or
      `in_place` is no bool.
    ValueError: `x` is a scalar, `residual` or `scale` has the wrong shape, or
      `eps` is negative or NaN.
  """
  return _add_rms_norm(x, residual, scale, eps=eps, in_place=in_place)
