# SPDX-License-Identifier: Apache-2.0
"""partition of the last axis around its median."""

import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import partition
from operands import array
import sort_sizes

# Elements on each side may be in any order: only the one at `kth` is compared.
ENTRY = Entry(
    function=lambda x, *, kth: partition(x, kth)[..., kth],
    operands=lambda rows, cols: (array(rows, cols),),
    attributes=lambda rows, cols: {"kth": cols // 2},
    sizes=sort_sizes.SIZES,
    streams={"forward": 2},  # x, y
    peers={"jax.numpy": lambda x, *, kth: jnp.partition(x, kth)[..., kth]},
    libraries={"numpy": lambda np, x, kth: np.partition(x, kth)[..., kth]},
)
