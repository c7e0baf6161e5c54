# SPDX-License-Identifier: Apache-2.0
"""layer_norm with scale and bias."""

import functools

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import layer_norm
from operands import array
from operands import weight
import pallas_peers
import row_sizes

_EPS = 1e-6


def _plain(x, scale, bias):
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  centered = wide - jnp.mean(wide, -1, keepdims=True)
  variance = jnp.mean(centered * centered, -1, keepdims=True)
  rstd = jax.lax.rsqrt(variance + _EPS)
  return (centered * rstd * scale + bias).astype(x.dtype)


def _one_pass(x, scale, bias):
  """Both sums at once, which cancels where means are large."""
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  mean = jnp.mean(wide, -1, keepdims=True)
  variance = jnp.mean(wide * wide, -1, keepdims=True) - mean * mean
  rstd = jax.lax.rsqrt(variance + _EPS)
  return ((wide - mean) * rstd * scale + bias).astype(x.dtype)


def _standardize(x, scale, bias):
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  y = jax.nn.standardize(wide, epsilon=_EPS)
  return (y * scale + bias).astype(x.dtype)


def _numpy(np, x, scale, bias):
  centered = x - x.mean(-1, keepdims=True)
  squares = np.einsum("ij,ij->i", centered, centered)[:, None]
  return centered / np.sqrt(squares / x.shape[-1] + _EPS) * scale + bias


ENTRY = Entry(
    function=functools.partial(layer_norm, eps=_EPS),
    operands=lambda rows, cols: (array(rows, cols), weight(cols), weight(cols)),
    sizes=row_sizes.SIZES,
    gpu_sizes=row_sizes.GPU_SIZES,
    in_place=True,
    streams={
        "forward": 2,  # x, y
        "backward": 3,  # x, dy, dx
    },
    peers={
        "jax.numpy": _plain,
        "jax.numpy, one pass": _one_pass,
        "jax.numpy, standardize": _standardize,
    }
    | pallas_peers.peers("layer_norm", _EPS),
    libraries={
        "torch": lambda nn, x, scale, bias: nn.layer_norm(
            x, x.shape[-1:], scale, bias, _EPS
        ),
        "liger": lambda liger, x, scale, bias: liger.liger_layer_norm(
            x, scale, bias, _EPS
        ),
        "numpy": _numpy,
        "onednn": lambda dnn, *arrays: dnn.norm(*arrays, eps=_EPS),
    },
)
