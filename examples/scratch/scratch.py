# SPDX-License-Identifier: Apache-2.0
"""Two handlers that need temporary memory, and get it in different ways."""

import pathlib

import jax

from jax_ffi_ops import kit

library = kit.Library(pathlib.Path(__file__).with_name("libscratch_ext.so"))

_with_result = kit.call(
    "example_smooth_result",
    library=library,
    results=lambda x: (x, x),  # The second one is the memory.
)


def smooth(x: jax.Array) -> jax.Array:
  """Returns the means of three neighbours of the means of three neighbours.

  Args:
    x: float32 vector; its last element is beside its first.
  """
  return _with_result(x)[0]


# The same, but the handler asks for its memory: on CUDA alone.
smooth_allocating = kit.call(
    "example_smooth_allocator", library=library, results=lambda x: x
)
