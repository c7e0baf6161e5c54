# SPDX-License-Identifier: Apache-2.0
"""Layer normalization."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import norms


def _mean(x):
  """Returns the mean, off by one rounding of it and a few of x - mean.

  One sum alone is off by several roundings of the mean. All elements of a
  constant row would then have a distance from it.
  """
  mean = jnp.mean(x)
  rest = jnp.mean(x - mean)
  # As in layer_norm.h: of a row with an infinity, the rest is NaN.
  return mean + jnp.where(jnp.isnan(rest), 0, rest)


def _reference(x, scale, bias, *, eps, center=_mean, mean_of=jnp.mean):
  wide = x.astype(kit.accumulator(x.dtype))
  mean = center(wide)
  centered = wide - mean
  rstd = 1 / jnp.sqrt(mean_of(centered * centered) + eps)
  y = centered * rstd
  if scale is not None:
    y = y * scale
  if bias is not None:
    y = y + bias
  return y.astype(x.dtype), mean, rstd


def _backward(x, scale, bias, mean, rstd, dy, *, eps, mean_of=jnp.mean):
  del eps
  xhat = (x.astype(rstd.dtype) - mean) * rstd
  g = dy.astype(rstd.dtype)
  dbias = None if bias is None else g
  dscale = None
  if scale is not None:
    dscale = g * xhat
    g = g * scale
  dx = rstd * (g - mean_of(g) - xhat * mean_of(g * xhat))
  return dx, dscale, dbias


def _moments(x, *, eps):
  """Returns the number of elements, their mean, and the sum of squares of the
  distances from it."""
  del eps
  wide = x.astype(kit.accumulator(x.dtype))
  mean = _mean(wide)
  return wide.dtype.type(x.size), mean, jnp.sum((wide - mean) ** 2)


def _combine_moments(a, b, *, eps):
  """From Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm
  for computing sample variances"."""
  del eps
  count = a[0] + b[0]
  share = b[0] / jnp.maximum(count, 1)
  distance = b[1] - a[1]
  squares = a[2] + b[2] + distance * distance * a[0] * share
  return count, a[1] + distance * share, squares


def _sums(x, scale, mean, rstd, dy, *, eps):
  del eps
  g = dy.astype(rstd.dtype) * (1 if scale is None else scale)
  xhat = (x.astype(rstd.dtype) - mean) * rstd
  return rstd.dtype.type(x.size), jnp.sum(g), jnp.sum(g * xhat)


def _known(*means):
  """Returns jnp.mean, where the means that it is called for are known."""
  following = iter(means)
  return lambda _: next(following)


_split = kit.Split(
    local=_moments,
    identity=lambda *, eps: (0, 0, 0),
    combine=_combine_moments,
    apply=lambda x, scale, bias, whole, *, eps: _reference(
        x, scale, bias, eps=eps, center=_known(whole[1]),
        mean_of=_known(whole[2] / whole[0]),
    ),
    backward=kit.Split(
        local=_sums,
        identity=lambda *, eps: (0, 0, 0),
        combine=lambda a, b, *, eps: tuple(map(jnp.add, a, b)),
        apply=lambda x, scale, bias, mean, rstd, dy, whole, *, eps: _backward(
            x, scale, bias, mean, rstd, dy, eps=eps,
            mean_of=_known(whole[1] / whole[0], whole[2] / whole[0]),
        ),
    ),
)  # fmt: skip

_layer_norm = kit.op(
    "layer_norm",
    library=libraries.beside(__file__),
    signature="(d),(d)?,(d)?->(d),(),()",
    attributes={"eps": kit.Attribute(np.float64, minimum=0)},
    reference=_reference,
    dtypes=kit.FLOATING,
    operands={"scale": norms.WEIGHT, "bias": norms.WEIGHT},
    derivatives=kit.Derivatives(
        backward=_backward, residuals=("mean", "rstd"), skips_gradients=True
    ),
    # To see it: //benchmarks:benchmark --at-any-speed --lines=layer_norm/*/*/*/program
    # 2**12 elements pay on one core; at 2**14, both are as fast.
    choice=norms.choice({(3, "float32"): 2**12, (4, "float32"): 2**12}),
    buffers=kit.Buffers(in_place={"y": "x"}),
    split=_split,
)


@kit.public(_layer_norm)
def layer_norm(
    x: jax.Array,
    scale: jax.Array | None = None,
    bias: jax.Array | None = None,
    *,
    eps: float = norms.EPS,
    in_place: bool = False,
) -> jax.Array:
  """Shifts and scales the last axis of `x` to mean 0 and variance 1.

    y = (x - mean(x)) / sqrt(var(x) + eps) * scale + bias

  Mean and variance are along the last axis. Sums are in float32, or in float64
  if `x` is float64, and the result is rounded once. The mean is corrected by
  that of the distances from it: it is off by about one unit in its last place,
  however many rows there are, and a constant row gives `bias`. From Ba, Kiros
  and Hinton, "Layer Normalization" (arXiv:1607.06450).

  Args:
    x: array of shape [..., d] and dtype float16, bfloat16, float32 or float64.
    scale: None, or an array of shape [d] and one of these dtypes; it may
      differ from the dtype of `x`.
    bias: like `scale`.
    eps: number, zero or positive, known when the function is traced.
    in_place: whether the result may take the memory of `x`, known when the
      function is traced. Say so where `x` is donated, or the carry of a loop.
      XLA copies an `x` that is used again.

  Returns:
    An array of the shape and dtype of `x`.

  Raises:
    TypeError: `x`, `scale` or `bias` is no array of a supported dtype, `eps` is
      no number or is traced, or `in_place` is no bool.
    ValueError: `x` is a scalar, `scale` or `bias` has the wrong shape, or `eps`
      is negative or NaN.
  """
  return _layer_norm(x, scale, bias, eps=eps, in_place=in_place)
