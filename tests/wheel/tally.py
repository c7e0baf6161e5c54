# SPDX-License-Identifier: Apache-2.0
"""An op of rows and of two dtypes, whose handler takes no shared operand."""

import pathlib

import jax.numpy as jnp

from jax_ffi_ops import kit

tally = kit.op(
    "foreign_tally",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libtally.so"),
        symbols={"foreign_tally_fwd": {"cpu": "TallyHandler"}},
    ),
    signature="(n),(n)->()",
    reference=lambda x, counts: jnp.sum(x * counts.astype(x.dtype)),
    dtypes={"x": ("float32",), "counts": ("int32",)},
    buffers=kit.Buffers(broadcast_operands=True),
)
