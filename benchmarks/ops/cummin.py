# SPDX-License-Identifier: Apache-2.0
"""cummin along the last axis."""

import jax.numpy as jnp

import scan_peers

CASE = scan_peers.beside(
    "cummin",
    jnp.minimum,
    libraries={
        "torch": lambda nn, x, axis: x.cummin(axis).values,
        "numpy": lambda np, x, axis: np.minimum.accumulate(x, axis),
    },
)
