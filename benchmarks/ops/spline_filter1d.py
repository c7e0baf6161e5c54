# SPDX-License-Identifier: Apache-2.0
"""spline_filter1d of order 3 along the first axis."""

from jax_ffi_ops.timing.cases import CASES

CASE = CASES["spline_filter1d"]
