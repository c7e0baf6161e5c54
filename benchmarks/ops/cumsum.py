# SPDX-License-Identifier: Apache-2.0
"""cumsum along the last axis."""

import jax.numpy as jnp

import scan_peers

CASE = scan_peers.beside(
    "cumsum",
    jnp.add,
    libraries={
        "torch": lambda nn, x, axis: x.cumsum(axis),
        "numpy": lambda np, x, axis: np.cumsum(x, axis),
    },
)
