# SPDX-License-Identifier: Apache-2.0
"""A difference whose product is rounded: x**3 is no part of a MulAdd."""

import pathlib

from jax_ffi_ops import kit

cubes = kit.op(
    "cubes",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libcubes_ext.so"), prefix="loops_"
    ),
    signature="(),()->()",
    reference=lambda x, y: x**3 - y,
    dtypes=("float32",),
)
