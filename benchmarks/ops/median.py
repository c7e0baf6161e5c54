# SPDX-License-Identifier: Apache-2.0
"""median of the last axis."""

import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import median
from operands import array

ENTRY = Entry(
    function=median,
    operands=lambda rows, cols: (array(rows, cols),),
    attributes=lambda rows, cols: {"axis": -1},
    sizes=("8x4", "4096x256", "64x16384", "1x1048576"),
    dtypes=("float32", "bfloat16"),
    streams={"forward": 1},  # a; the medians are few
    peers={"jax.numpy": jnp.median},
    libraries={"numpy": lambda np, a, axis: np.median(a, axis)},
)
