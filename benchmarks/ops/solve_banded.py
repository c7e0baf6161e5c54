# SPDX-License-Identifier: Apache-2.0
"""solve_banded, two diagonals on each side."""

from jax_ffi_ops.timing.cases import CASES

CASE = CASES["solve_banded"]
