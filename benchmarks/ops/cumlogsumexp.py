# SPDX-License-Identifier: Apache-2.0
"""cumlogsumexp along the last axis."""

import jax.numpy as jnp

import scan_peers

CASE = scan_peers.beside(
    "cumlogsumexp",
    jnp.logaddexp,
    libraries={
        "torch": lambda nn, x, axis: x.logcumsumexp(axis),
        "numpy": lambda np, x, axis: np.logaddexp.accumulate(x, axis),
    },
)
