# SPDX-License-Identifier: Apache-2.0
"""cumlogsumexp along the last axis."""

import jax.numpy as jnp

from jax_ffi_ops import cumlogsumexp
import scans

ENTRY = scans.entry(
    cumlogsumexp,
    jnp.logaddexp,
    libraries={
        "torch": lambda nn, x: x.logcumsumexp(-1),
        "numpy": lambda np, x: np.logaddexp.accumulate(x, -1),
    },
)
