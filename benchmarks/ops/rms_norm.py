# SPDX-License-Identifier: Apache-2.0
"""rms_norm with scale."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases.norms import wide
import pallas_peers


def _dot(x, scale, *, eps):
  """The sum is a product of matrices."""
  squares = jnp.einsum("...i,...i->...", wide(x), wide(x))[..., None]
  return (
      wide(x) * (jax.lax.rsqrt(squares / x.shape[-1] + eps) * scale)
  ).astype(x.dtype)


def _numpy(np, x, scale, *, eps):
  squares = np.einsum("ij,ij->i", x, x)[:, None]
  return x / np.sqrt(squares / x.shape[-1] + eps) * scale


CASE = CASES["rms_norm"].beside(
    {"jax.numpy, dot": _dot, **pallas_peers.peers("rms_norm")},
    libraries={
        "torch": lambda nn, x, scale, eps: nn.rms_norm(
            x, x.shape[-1:], scale, eps
        ),
        "liger": lambda liger, x, scale, eps: liger.liger_rms_norm(
            x, scale, eps, in_place=False
        ),
        "quack": lambda quack, x, scale, eps: quack.rmsnorm(x, scale, eps=eps),
        "numpy": _numpy,
    },
)
