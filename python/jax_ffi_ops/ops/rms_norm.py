# SPDX-License-Identifier: Apache-2.0
"""Root mean square normalization."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import norms


def _reference(x, scale, *, eps, mean=jnp.mean):
  wide = x.astype(kit.accumulator(x.dtype))
  rstd = 1 / jnp.sqrt(mean(wide * wide) + eps)
  y = wide * rstd * (1 if scale is None else scale)
  return y.astype(x.dtype), rstd


def _backward(x, scale, rstd, dy, *, eps, mean=jnp.mean):
  del eps
  xhat = x.astype(rstd.dtype) * rstd
  g = dy.astype(rstd.dtype)
  dscale = None
  if scale is not None:
    dscale = g * xhat
    g = g * scale
  return rstd * (g - xhat * mean(g * xhat)), dscale


def _sum_of_squares(x, *, eps):
  del eps
  wide = x.astype(kit.accumulator(x.dtype))
  return jnp.sum(wide * wide), wide.dtype.type(x.size)


def _sum_of_products(x, scale, rstd, dy, *, eps):
  del eps
  g = dy.astype(rstd.dtype) * (1 if scale is None else scale)
  return jnp.sum(g * (x.astype(rstd.dtype) * rstd)), rstd.dtype.type(x.size)


def _mean(sums):
  """Returns jnp.mean, where the sum and the number of terms are known."""
  return lambda _: sums[0] / sums[1]


_sums = {
    "identity": lambda *, eps: (0, 0),
    "combine": lambda a, b, *, eps: (a[0] + b[0], a[1] + b[1]),
}
_split = kit.Split(
    local=_sum_of_squares,
    apply=lambda x, scale, whole, *, eps: _reference(
        x, scale, eps=eps, mean=_mean(whole)
    ),
    **_sums,
    backward=kit.Split(
        local=_sum_of_products,
        apply=lambda x, scale, rstd, dy, whole, *, eps: _backward(
            x, scale, rstd, dy, eps=eps, mean=_mean(whole)
        ),
        **_sums,
    ),
)

_rms_norm = kit.op(
    "rms_norm",
    library=libraries.beside(__file__),
    signature="(d),(d)?->(d),()",
    attributes={"eps": kit.Attribute(np.float64, minimum=0)},
    reference=_reference,
    dtypes=kit.FLOATING,
    operands={"scale": norms.WEIGHT},
    derivatives=kit.Derivatives(
        backward=_backward, residuals=("rstd",), skips_gradients=True
    ),
    # To see it: //benchmarks:benchmark --at-any-speed --lines=rms_norm/*/*/*/program
    choice=norms.choice(),
    buffers=kit.Buffers(in_place={"y": "x"}),
    split=_split,
)


@kit.public(_rms_norm)
def rms_norm(
    x: jax.Array,
    scale: jax.Array | None = None,
    *,
    eps: float = norms.EPS,
    in_place: bool = False,
) -> jax.Array:
  """Divides the last axis of `x` by its root mean square.

    y = x / sqrt(mean(x^2, axis=-1) + eps) * scale

  Sums are in float32, or in float64 if `x` is float64, and the result is
  rounded once. From Zhang and Sennrich, "Root Mean Square Layer Normalization"
  (arXiv:1910.07467).

  Args:
    x: array of shape [..., d] and dtype float16, bfloat16, float32 or float64.
    scale: None, or an array of shape [d] and one of these dtypes; it may
      differ from the dtype of `x`.
    eps: number, zero or positive, known when the function is traced.
    in_place: whether the result may take the memory of `x`, known when the
      function is traced. Say so where `x` is donated, or the carry of a loop.
      XLA copies an `x` that is used again.

  Returns:
    An array of the shape and dtype of `x`.

  Raises:
    TypeError: `x` or `scale` is no array of a supported dtype, `eps` is no
      number or is traced, or `in_place` is no bool.
    ValueError: `x` is a scalar, `scale` has the wrong shape, or `eps` is
      negative or NaN.
  """
  return _rms_norm(x, scale, eps=eps, in_place=in_place)
