# SPDX-License-Identifier: Apache-2.0
"""cumprod along the last axis."""

import jax.numpy as jnp

import scan_peers

CASE = scan_peers.beside(
    "cumprod",
    jnp.multiply,
    libraries={
        "torch": lambda nn, x, axis: x.cumprod(axis),
        "numpy": lambda np, x, axis: np.cumprod(x, axis),
    },
)
