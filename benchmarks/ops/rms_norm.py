# SPDX-License-Identifier: Apache-2.0
"""rms_norm with scale."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import rms_norm
from operands import array
from operands import weight
import pallas_peers
import row_sizes

_EPS = 1e-6


def _plain(x, scale):
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  rstd = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + _EPS)
  return (wide * rstd * scale).astype(x.dtype)


def _dot(x, scale):
  """The sum is a product of matrices."""
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  squares = jnp.einsum("...i,...i->...", wide, wide)[..., None]
  return (wide * (jax.lax.rsqrt(squares / x.shape[-1] + _EPS) * scale)).astype(
      x.dtype
  )


def _numpy(np, x, scale):
  squares = np.einsum("ij,ij->i", x, x)[:, None]
  return x / np.sqrt(squares / x.shape[-1] + _EPS) * scale


ENTRY = Entry(
    function=rms_norm,
    operands=lambda rows, cols: (array(rows, cols), weight(cols)),
    sizes=row_sizes.SIZES,
    gpu_sizes=row_sizes.GPU_SIZES,
    in_place=True,
    streams={
        "forward": 2,  # x, y
        "backward": 3,  # x, dy, dx
    },
    peers={"jax.numpy": _plain, "jax.numpy, dot": _dot}
    | pallas_peers.peers("rms_norm", _EPS),
    libraries={
        "torch": lambda nn, x, scale: nn.rms_norm(x, x.shape[-1:], scale, _EPS),
        "liger": lambda liger, x, scale: liger.liger_rms_norm(
            x, scale, _EPS, in_place=False
        ),
        "quack": lambda quack, x, scale: quack.rmsnorm(x, scale, eps=_EPS),
        "numpy": _numpy,
        "onednn": lambda dnn, x, scale: dnn.norm(x, scale, eps=_EPS, rms=True),
    },
)
