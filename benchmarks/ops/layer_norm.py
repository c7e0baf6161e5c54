# SPDX-License-Identifier: Apache-2.0
"""layer_norm with scale and bias."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases.norms import wide
import pallas_peers


def _one_pass(x, scale, bias, *, eps):
  """Both sums at once, which cancels where means are large."""
  mean = jnp.mean(wide(x), -1, keepdims=True)
  variance = jnp.mean(wide(x) ** 2, -1, keepdims=True) - mean * mean
  rstd = jax.lax.rsqrt(variance + eps)
  return ((wide(x) - mean) * rstd * scale + bias).astype(x.dtype)


def _standardize(x, scale, bias, *, eps):
  y = jax.nn.standardize(wide(x), epsilon=eps)
  return (y * scale + bias).astype(x.dtype)


def _numpy(np, x, scale, bias, *, eps):
  centered = x - x.mean(-1, keepdims=True)
  squares = np.einsum("ij,ij->i", centered, centered)[:, None]
  return centered / np.sqrt(squares / x.shape[-1] + eps) * scale + bias


CASE = CASES["layer_norm"].beside(
    {
        "jax.numpy, one pass": _one_pass,
        "jax.numpy, standardize": _standardize,
        **pallas_peers.peers("layer_norm"),
    },
    libraries={
        "torch": lambda nn, x, scale, bias, eps: nn.layer_norm(
            x, x.shape[-1:], scale, bias, eps
        ),
        "liger": lambda liger, x, scale, bias, eps: liger.liger_layer_norm(
            x, scale, bias, eps
        ),
        "numpy": _numpy,
    },
)
