# SPDX-License-Identifier: Apache-2.0
"""layer_norm with scale and bias."""

import functools

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import layer_norm
import pallas_peers

_EPS = 1e-6


def _plain(x, scale, bias):
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  centered = wide - jnp.mean(wide, -1, keepdims=True)
  variance = jnp.mean(centered * centered, -1, keepdims=True)
  rstd = jax.lax.rsqrt(variance + _EPS)
  return (centered * rstd * scale + bias).astype(x.dtype)


def _one_pass(x, scale, bias):
  """As fast as XLA can: both sums at once, which cancels where means are large."""
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  mean = jnp.mean(wide, -1, keepdims=True)
  variance = jnp.mean(wide * wide, -1, keepdims=True) - mean * mean
  rstd = jax.lax.rsqrt(variance + _EPS)
  return ((wide - mean) * rstd * scale + bias).astype(x.dtype)


ENTRY = Entry(
    function=functools.partial(layer_norm, eps=_EPS),
    operands=lambda rows, cols: ((rows, cols), (cols,), (cols,)),
    forward=2,  # x, y
    backward=3,  # x, dy, dx
    peers={"jax.numpy": _plain, "one pass": _one_pass}
    | pallas_peers.peers("layer_norm", _EPS),
    torch={
        "torch": lambda nn, x, scale, bias: nn.layer_norm(
            x, x.shape[-1:], scale, bias, _EPS
        ),
        "liger": lambda liger, x, scale, bias: liger.liger_layer_norm(
            x, scale, bias, _EPS
        ),
    },
)
