# SPDX-License-Identifier: Apache-2.0
"""argpartition of the last axis around its median."""

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases import selections

CASE = CASES["argpartition"].beside(
    libraries={
        "numpy": lambda np, x, kth: (
            selections.at_middle_place(np, np.argpartition)(x, kth=kth)
        )
    },
)
