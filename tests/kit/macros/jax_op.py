# SPDX-License-Identifier: Apache-2.0
"""The reference of an op whose handler the build writes."""

import pathlib

from jax_ffi_ops import kit

op = kit.op(
    "jax_op",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libjax_op_ext.so"), prefix="macros_"
    ),
    signature="()->()",
    reference=lambda x: 2 * x,
    dtypes=("float32",),
)
