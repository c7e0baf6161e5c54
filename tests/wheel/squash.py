# SPDX-License-Identifier: Apache-2.0
"""An op of two results, whose handler has a state."""

import pathlib

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit


def _reference(x, *, sharpness):
  r = 1 / (1 + sharpness * sharpness * jnp.abs(x))
  return x * r, r * r


squash = kit.op(
    "foreign_squash",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libsquash.so"),
        symbols={
            "foreign_squash_fwd": {
                "cpu": {
                    "instantiate": "SquashInstantiate",
                    "execute": "SquashExecute",
                    "type_id": "SquashTypeId",
                    "type_info": "SquashTypeInfo",
                }
            }
        },
    ),
    signature="()->(),()",
    outputs=("y", "slope"),
    attributes={"sharpness": kit.Attribute(np.float32, minimum=0)},
    reference=_reference,
    dtypes=("float32",),
)
