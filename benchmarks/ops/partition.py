# SPDX-License-Identifier: Apache-2.0
"""partition of the last axis around its median."""

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases import selections

CASE = CASES["partition"].beside(
    libraries={
        "numpy": lambda np, x, kth: selections.at_middle(np.partition)(
            x, kth=kth
        )
    },
)
