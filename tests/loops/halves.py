# SPDX-License-Identifier: Apache-2.0
"""Casts of float64 to 16 bits, which round once."""

import pathlib

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

halves = kit.op(
    "halves",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libhalves_ext.so"), prefix="loops_"
    ),
    signature="()->(),()",
    reference=lambda x: tuple(
        x.astype(half).astype(np.float32) for half in (np.float16, jnp.bfloat16)
    ),
    dtypes=("float64",),
)
