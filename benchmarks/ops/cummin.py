# SPDX-License-Identifier: Apache-2.0
"""cummin along the last axis."""

import jax.numpy as jnp

from jax_ffi_ops import cummin
import scans

ENTRY = scans.entry(
    cummin,
    jnp.minimum,
    libraries={
        "torch": lambda nn, x: x.cummin(-1).values,
        "numpy": lambda np, x: np.minimum.accumulate(x, -1),
    },
)
