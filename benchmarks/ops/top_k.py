# SPDX-License-Identifier: Apache-2.0
"""top_k of the last axis: rows x columns x k."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES


def _wide(x, *, k):
  """XLA is fast with float32 alone."""
  values, indices = jax.lax.top_k(x.astype(jnp.float32), k)
  return values.astype(x.dtype), indices


CASE = CASES["top_k"].beside(
    {"jax.numpy, float32": _wide},
    libraries={"torch": lambda nn, x, k: nn.torch.topk(x, k)},
)
