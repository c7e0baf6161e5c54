# SPDX-License-Identifier: Apache-2.0
"""Every kind of attribute, with the type that the C++ handler binds."""

import enum
import functools
import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit


class Border(enum.IntEnum):
  """The values of `enum class Border : int32_t`."""

  ZEROS = 0
  WRAP = 1


_call = functools.partial(
    kit.call,
    library=kit.Library(
        pathlib.Path(__file__).with_name("libattributes_ext.so")
    ),
    results=lambda **_: jax.ShapeDtypeStruct((256,), np.uint8),
)

scalars = _call(
    "example_scalars",
    attributes={
        "flag": bool,
        "i8": np.int8,
        "i16": np.int16,
        "i32": np.int32,
        "i64": np.int64,
        "u8": np.uint8,
        "u16": np.uint16,
        "u32": np.uint32,
        "u64": np.uint64,
        "f32": np.float32,
        "f64": np.float64,
        "name": str,
    },
)

arrays = _call(
    "example_arrays",
    attributes={"integers": [np.int32], "numbers": [np.float64]},
)

# `struct Window`: a mapping of exactly its members.
struct = _call(
    "example_struct",
    attributes={
        "window": {"size": np.int64, "scale": np.float64, "border": np.int32}
    },
)

# A mapping in a mapping, and what a call may leave out.
nested = _call(
    "example_nested",
    attributes={
        "options": {"deep": {"count": kit.Attribute(np.int64, minimum=0)}},
        "offset": kit.Attribute(np.float32, optional=True),
    },
)


def text(array: jax.Array) -> str:
  """Returns what a handler has written."""
  return bytes(np.asarray(array)).decode().rstrip()
