# SPDX-License-Identifier: Apache-2.0
"""Root mean square normalization."""

import functools
import numbers
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

_DTYPES = tuple(map(jnp.dtype, ("float16", "bfloat16", "float32", "float64")))

kit.Library(pathlib.Path(__file__).with_name("librms_norm_ext.so")).register(
    "xla_ffi_ops_rms_norm_fwd",
    "xla_ffi_ops_rms_norm_bwd",
    "xla_ffi_ops_rms_norm_unscaled_fwd",
    "xla_ffi_ops_rms_norm_unscaled_bwd",
)


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
  x = _floating_array("x", x)
  if x.ndim == 0:
    raise ValueError("rms_norm: x must have at least one axis, got a scalar.")
  if scale is not None:
    scale = _floating_array("scale", scale)
    if scale.shape != x.shape[-1:]:
      raise ValueError(
          f"rms_norm: scale must have shape {x.shape[-1:]}, the last axis of x"
          f" of shape {x.shape}, got {scale.shape}."
      )
  return _rms_norm(_static_eps(eps), x, scale)


def _floating_array(name, value):
  if not isinstance(value, (jax.Array, np.ndarray, np.generic)):
    raise TypeError(f"rms_norm: {name} must be an array, got {value!r}.")
  if value.dtype not in _DTYPES:
    raise TypeError(
        f"rms_norm: {name} must have dtype float16, bfloat16, float32 or"
        f" float64, got {value.dtype}."
    )
  return jnp.asarray(value)


def _static_eps(eps):
  if not isinstance(eps, numbers.Real) or isinstance(eps, bool):
    raise TypeError(
        "rms_norm: eps must be a number known when the function is traced,"
        f" got {eps!r}."
    )
  if not eps >= 0:
    raise ValueError(f"rms_norm: eps must be zero or positive, got {eps}.")
  return float(eps)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rms_norm(eps, x, scale):
  return _forward(eps, x, scale)[0]


def _forward(eps, x, scale):
  loops = x.shape[:-1]
  call = jax.ffi.ffi_call(
      f"xla_ffi_ops_rms_norm{'_unscaled' if scale is None else ''}_fwd",
      (_shape(x.shape, x.dtype), _shape(loops, _accumulator(x.dtype))),
      vmap_method="expand_dims",
  )
  # The handler takes a loop dimension in full or as 1.
  scales = () if scale is None else (jnp.expand_dims(scale, range(len(loops))),)
  y, rstd = call(x, *scales, eps=np.float64(eps))
  return y, (x, scale, rstd)


def _backward(eps, residuals, dy):
  x, scale, rstd = residuals
  if scale is None:
    (dx,) = _backward_call(eps, 0)(x, rstd, dy)
    return dx, None
  return _backward_call(eps, 0)(x, scale, rstd, dy)


def _backward_call(eps, batch_rank):
  """Returns the call of the backward handler under `batch_rank` vmaps."""

  @jax.custom_batching.custom_vmap
  def call(x, *operands):
    *scales, rstd, dy = operands
    loops = np.broadcast_shapes(x.shape[:-1], rstd.shape, dy.shape[:-1])
    if scales:
      batch = scales[0].shape[:-1] + (1,) * (len(loops) - batch_rank)
      loops = np.broadcast_shapes(loops, batch)
    return jax.ffi.ffi_call(
        f"xla_ffi_ops_rms_norm{'' if scales else '_unscaled'}_bwd",
        (
            _shape((*loops, x.shape[-1]), x.dtype),
            *(
                _shape((*loops[:batch_rank], x.shape[-1]), scale.dtype)
                for scale in scales
            ),
        ),
    )(x, *operands, eps=np.float64(eps), batch_rank=np.int64(batch_rank))

  @call.def_vmap
  def _(axis_size, batched, *operands):
    del axis_size
    results = _backward_call(eps, batch_rank + 1)(*(
        operand if is_batched else operand[None]
        for operand, is_batched in zip(operands, batched)
    ))
    return results, (True,) * len(results)

  return call


_rms_norm.defvjp(_forward, _backward)


def _accumulator(dtype):
  return np.float64 if dtype == np.float64 else np.float32


def _shape(shape, dtype):
  return jax.ShapeDtypeStruct(shape, dtype)
