# SPDX-License-Identifier: Apache-2.0
"""argpartition of the last axis around its median."""

import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import argpartition
from operands import array
import sort_sizes

ENTRY = Entry(
    function=argpartition,
    operands=lambda rows, cols: (array(rows, cols),),
    attributes=lambda rows, cols: {"kth": cols // 2},
    sizes=sort_sizes.SIZES,
    streams={"forward": 2},  # x, y
    peers={"jax.numpy": lambda x, *, kth: jnp.argpartition(x, kth)},
    libraries={"numpy": lambda np, x, kth: np.argpartition(x, kth)},
)
