# SPDX-License-Identifier: Apache-2.0
"""cummax along the last axis."""

import jax.numpy as jnp

from jax_ffi_ops import cummax
import scans

ENTRY = scans.entry(
    cummax,
    jnp.maximum,
    libraries={
        "torch": lambda nn, x: x.cummax(-1).values,
        "numpy": lambda np, x: np.maximum.accumulate(x, -1),
    },
)
