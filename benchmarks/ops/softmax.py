# SPDX-License-Identifier: Apache-2.0
"""softmax of the last axis."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import softmax
import pallas_peers


def _plain(x):
  wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
  return jax.nn.softmax(wide).astype(x.dtype)


ENTRY = Entry(
    function=softmax,
    operands=lambda rows, cols: ((rows, cols),),
    forward=2,  # x, y
    backward=3,  # y, dy, dx
    peers={"jax.numpy": _plain} | pallas_peers.peers("softmax"),
    torch={
        "torch": lambda nn, x: nn.softmax(x, -1),
        "liger": lambda liger, x: liger.liger_softmax(x),
        "quack": lambda quack, x: quack.softmax(x),
    },
)
