# SPDX-License-Identifier: Apache-2.0
"""cummax along the last axis."""

import jax.numpy as jnp

import scan_peers

CASE = scan_peers.beside(
    "cummax",
    jnp.maximum,
    libraries={
        "torch": lambda nn, x, axis: x.cummax(axis).values,
        "numpy": lambda np, x, axis: np.maximum.accumulate(x, axis),
    },
)
