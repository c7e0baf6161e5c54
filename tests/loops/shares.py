# SPDX-License-Identifier: Apache-2.0
"""A product with what rows share, or do not."""

import pathlib

from jax_ffi_ops import kit

shares = kit.op(
    "shares",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libshares_ext.so"), prefix="loops_"
    ),
    signature="(n),(n)->(n)",
    reference=lambda x, weight: x * weight,
    operands=("x", "weight"),
    dtypes=("float32",),
)
