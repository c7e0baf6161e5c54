# SPDX-License-Identifier: Apache-2.0
"""Root mean square normalization."""

import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit


def rms_norm(
    x: jax.Array, scale: jax.Array | None = None, *, eps: float = 1e-6
) -> jax.Array:
  """Divides the last axis of `x` by its root mean square.

  y = x / sqrt(mean(x^2, axis=-1) + eps) * scale

  Sums are kept in float32, for float64 in float64, and the result is rounded
  once. From Zhang and Sennrich, "Root Mean Square Layer Normalization"
  (arXiv:1910.07467).

  Args:
    x: array of shape [..., d] and dtype float16, bfloat16, float32 or float64.
    scale: None, or an array of shape [d] and one of these dtypes, not
      necessarily that of `x`.
    eps: number, zero or positive, known when the function is traced.

  Returns:
    An array of the shape and dtype of `x`.

  Raises:
    TypeError: `x` or `scale` is no array of a supported dtype, or `eps` is no
      number or a traced one.
    ValueError: `x` is a scalar, `scale` has the wrong shape, or `eps` is
      negative or NaN.
  """
  if scale is None:
    return _unscaled(x, eps=eps)
  return _scaled(x, scale, eps=eps)


def _reference(x, scale=1.0, *, eps):
  wide = x.astype(kit.accumulator(x.dtype))
  rstd = 1 / jnp.sqrt(jnp.mean(wide * wide) + eps.astype(wide.dtype))
  return (wide * rstd * scale).astype(x.dtype), rstd


def _result_dtypes(x, *_, **__):
  return x.dtype, kit.accumulator(x.dtype)


def _workspace(operands, results):
  """Partial sums of the gradient of scale: as many as a GPU works on at once."""
  x, scale, *_ = operands
  dx, dscale = results
  *groups, cols = dscale.shape
  sums = jax.core.max_dim(math.prod(groups), 1)
  rows = math.prod(dx.shape[:-1]) // sums
  # A part of few rows costs more than it gains, and so do very wide ones.
  most = jax.core.min_dim(192 // sums, 192 * 32768 // jax.core.max_dim(cols, 1))
  parts = 1 + jax.core.min_dim(rows // 4, most)
  dtype = np.promote_types(*map(kit.accumulator, (x.dtype, scale.dtype)))
  return jax.ShapeDtypeStruct((*groups, parts, cols), dtype)


_COMMON = dict(
    library=kit.Library(pathlib.Path(__file__).with_name("librms_norm_ext.so")),
    results=_result_dtypes,
    residuals=1,
    attributes={"eps": kit.Attribute(np.float64, minimum=0)},
    reference=_reference,
    dtypes=kit.FLOATING,
)
_scaled = kit.op(
    "xla_ffi_ops_rms_norm",
    signature="(d),(d)->(d),()",
    parameters=("scale",),
    workspace=_workspace,
    **_COMMON,
)
_unscaled = kit.op(
    "xla_ffi_ops_rms_norm_unscaled", signature="(d)->(d),()", **_COMMON
)
