# SPDX-License-Identifier: Apache-2.0
"""A handler that changes an array where it is."""

import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

_call = kit.call(
    "example_increment",
    library=kit.Library(pathlib.Path(__file__).with_name("libin_place_ext.so")),
    results=lambda x: (x, jax.ShapeDtypeStruct((), np.int64)),
    input_output_aliases={0: 0},
)


def increment(x: jax.Array) -> tuple[jax.Array, jax.Array]:
  """Returns x + 1, and the address at which the handler found and left it.

  XLA copies `x` before the call unless nobody needs it afterwards.

  Args:
    x: float32 array. The 64-bit address needs jax.enable_x64.
  """
  return _call(x)
