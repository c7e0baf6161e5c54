# SPDX-License-Identifier: Apache-2.0
"""The op in Python: what it is called with, and its definition."""

import pathlib

import jax.numpy as jnp

from jax_ffi_ops import kit

_FOLDER = pathlib.Path(__file__).parent

l1_distance = kit.op(
    "my_l1_distance",
    library=kit.Library(_FOLDER / "libl1_distance_ext.so"),
    signature="(n),(n)->()",
    reference=lambda a, b: jnp.abs(a - b).sum(),
    dtypes=("float32",),
)
