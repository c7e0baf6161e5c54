# SPDX-License-Identifier: Apache-2.0
"""One handler for all dtypes, and one for each dtype."""

import functools
import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

_call = functools.partial(
    kit.call,
    library=kit.Library(pathlib.Path(__file__).with_name("libdtypes_ext.so")),
)
_PACKED = {**{"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}}


def byte_size(shape: tuple[int, ...], dtype: np.dtype) -> int:
  """Returns the number of bytes of an array in XLA's memory."""
  bits = _PACKED.get(dtype.name, 8 * dtype.itemsize)
  return -(-int(np.prod(shape)) * bits // 8)


# The memory of an array of any dtype, as a vector of uint8.
to_bytes = _call(
    "example_to_bytes",
    results=lambda x: jax.ShapeDtypeStruct(
        (byte_size(x.shape, x.dtype),), np.uint8
    ),
)

# What XLA's headers take for the number of bytes.
size_bytes = _call(
    "example_size_bytes", results=lambda x: jax.ShapeDtypeStruct((), np.int64)
)


def from_bytes(
    data: jax.Array, shape: tuple[int, ...], dtype: np.dtype
) -> jax.Array:
  """Returns the array with this memory."""
  result = jax.ShapeDtypeStruct(shape, dtype)
  return _call("example_from_bytes", results=lambda data: result)(data)


_NEGATE = {
    name: _call(f"example_negate_{name}", results=lambda x: x)
    for name in (
        *("int8", "int32", "int64", "float16", "bfloat16", "float32"),
        *("float64", "complex64", "complex128"),
    )
}


def negate(x: jax.Array) -> jax.Array:
  """Returns -x, by the handler for its dtype.

  Raises:
    TypeError: there is none.
  """
  if x.dtype.name not in _NEGATE:
    raise TypeError(f"x must have dtype {', '.join(_NEGATE)}, got {x.dtype}.")
  return _NEGATE[x.dtype.name](x)
