# SPDX-License-Identifier: Apache-2.0
"""softmax of the last axis."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import softmax
from operands import array
import pallas_peers
import row_sizes


def _plain(x):
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  return jax.nn.softmax(wide).astype(x.dtype)


def _reciprocal(x):
  """A division per row."""
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  powers = jnp.exp(wide - wide.max(-1, keepdims=True))
  return (powers * (1 / powers.sum(-1, keepdims=True))).astype(x.dtype)


def _numpy(np, x):
  powers = np.exp(x - x.max(-1, keepdims=True))
  return powers / powers.sum(-1, keepdims=True)


ENTRY = Entry(
    function=softmax,
    operands=lambda rows, cols: (array(rows, cols),),
    sizes=row_sizes.SIZES,
    gpu_sizes=row_sizes.GPU_SIZES,
    in_place=True,
    streams={
        "forward": 2,  # x, y
        "backward": 3,  # y, dy, dx
    },
    peers={"jax.numpy": _plain, "jax.numpy, reciprocal": _reciprocal}
    | pallas_peers.peers("softmax"),
    libraries={
        "torch": lambda nn, x: nn.softmax(x, -1),
        "liger": lambda liger, x: liger.liger_softmax(x),
        "quack": lambda quack, x: quack.softmax(x),
        "numpy": _numpy,
        "scipy": lambda special, x: special.softmax(x, -1),
        "onednn": lambda dnn, x: dnn.softmax(x),
    },
)
