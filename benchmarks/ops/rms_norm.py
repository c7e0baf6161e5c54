# SPDX-License-Identifier: Apache-2.0
"""rms_norm with scale."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import rms_norm
import pallas_peers

_EPS = 1e-6


def _plain(x, scale):
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  rstd = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + _EPS)
  return (wide * rstd * scale).astype(x.dtype)


ENTRY = Entry(
    function=rms_norm,
    operands=lambda rows, cols: ((rows, cols), (cols,)),
    forward=2,  # x, y
    backward=3,  # x, dy, dx
    peers={"jax.numpy": _plain} | pallas_peers.peers("rms_norm", _EPS),
    torch={
        "torch": lambda nn, x, scale: nn.rms_norm(x, x.shape[-1:], scale, _EPS),
        "liger": lambda liger, x, scale: liger.liger_rms_norm(
            x, scale, _EPS, in_place=False
        ),
        "quack": lambda quack, x, scale: quack.rmsnorm(x, scale, eps=_EPS),
    },
)
