# SPDX-License-Identifier: Apache-2.0
"""spline_filter1d of order 3 along the first axis."""

from entry import Entry
from jax_ffi_ops import spline_filter1d
from jax_ffi_ops.doctor.speed_cases import spline_filter_by_scan
from operands import array

ENTRY = Entry(
    function=lambda x: spline_filter1d(x, axis=0),
    operands=lambda rows, cols: (array(rows, cols),),
    sizes=("64x8", "1024x1024", "4096x256"),
    streams={"forward": 2},  # x, c
    dtypes=("float32",),
    peers={"jax.lax.scan": spline_filter_by_scan},
)
