# SPDX-License-Identifier: Apache-2.0
"""top_k of the last axis: rows x columns x k."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import top_k
from operands import array


def _plain(x, *, k):
  return jax.lax.top_k(x, k)


def _wide(x, *, k):
  """XLA is fast with float32 alone."""
  values, indices = jax.lax.top_k(x.astype(jnp.float32), k)
  return values.astype(x.dtype), indices


ENTRY = Entry(
    function=top_k,
    operands=lambda rows, cols, k: (array(rows, cols),),
    attributes=lambda rows, cols, k: {"k": k},
    sizes=(
        "1x16x2",
        "64x256x8",
        "1x131072x50",
        "1024x1024x8",
        "64x8192x1024",
        "8x131072x50",
        "256x50257x50",
        "32x131072x50",
    ),
    dtypes=("float32", "bfloat16", "float16", "int32"),
    streams={"forward": 1},  # x; the results are small
    peers={"jax.numpy": _plain, "jax.numpy, float32": _wide},
    libraries={"torch": lambda nn, x, k: nn.torch.topk(x, k)},
)
