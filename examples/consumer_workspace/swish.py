# SPDX-License-Identifier: Apache-2.0
"""The op in Python: what it is called with, and its definition."""

import pathlib

import jax.numpy as jnp

from jax_ffi_ops import kit

swish = kit.op(
    "my_swish",
    library=kit.Library(pathlib.Path(__file__).with_name("libswish_ext.so")),
    signature="()->()",
    reference=lambda x: x / (1 + jnp.exp(-x)),
    dtypes=("float32",),
)
