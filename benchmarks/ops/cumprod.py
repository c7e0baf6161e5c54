# SPDX-License-Identifier: Apache-2.0
"""cumprod along the last axis."""

import jax.numpy as jnp

from jax_ffi_ops import cumprod
import scans

ENTRY = scans.entry(
    cumprod,
    jnp.multiply,
    libraries={
        "torch": lambda nn, x: x.cumprod(-1),
        "numpy": lambda np, x: np.cumprod(x, -1),
    },
)
