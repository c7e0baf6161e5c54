# SPDX-License-Identifier: Apache-2.0
"""add_rms_norm with scale: both results are used."""

import functools

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import add_rms_norm
from operands import array
from operands import weight
import row_sizes

_EPS = 1e-6


def _plain(x, residual, scale):
  sums = x + residual
  wide = sums.astype(jnp.promote_types(x.dtype, jnp.float32))
  rstd = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + _EPS)
  return (wide * rstd * scale).astype(x.dtype), sums


def _torch(nn, x, residual, scale):
  sums = x + residual
  return nn.rms_norm(sums, x.shape[-1:], scale, _EPS), sums


def _numpy(np, x, residual, scale):
  sums = x + residual
  squares = np.einsum("ij,ij->i", sums, sums)[:, None]
  return sums / np.sqrt(squares / x.shape[-1] + _EPS) * scale, sums


ENTRY = Entry(
    function=functools.partial(add_rms_norm, eps=_EPS),
    operands=lambda rows, cols: (
        array(rows, cols),
        array(rows, cols),
        weight(cols),
    ),
    sizes=row_sizes.SIZES,
    gpu_sizes=row_sizes.GPU_SIZES,
    in_place=True,
    streams={
        "forward": 4,  # x, residual, y, sum
        "backward": 5,  # sum, dy, dsum, dx, dresidual
    },
    peers={"jax.numpy": _plain},
    libraries={
        "torch": _torch,
        "liger": lambda liger, x, residual, scale: (
            liger.liger_fused_add_rms_norm(
                x, residual, scale, _EPS, in_place=False
            )
        ),
        "quack": lambda quack, x, residual, scale: quack.rmsnorm(
            x, scale, residual=residual, eps=_EPS, prenorm=True
        ),
        "numpy": _numpy,
    },
)
