# SPDX-License-Identifier: Apache-2.0
"""median of the last axis."""

from jax_ffi_ops.timing.cases import CASES

CASE = CASES["median"].beside(
    libraries={"numpy": lambda np, a, axis: np.median(a, axis)}
)
