# SPDX-License-Identifier: Apache-2.0
"""A handler whose work goes on when it has returned.

All need 64-bit integers: call them under jax.enable_x64.
"""

import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

_LIBRARY = kit.Library(
    pathlib.Path(__file__).with_name("libasynchronous_ext.so")
)


def _results(x, *, block):
  blocks = -(-x.size // block) if block > 0 else 0
  return (
      jax.ShapeDtypeStruct(x.shape, x.dtype),
      jax.ShapeDtypeStruct((1 + blocks,), np.int64),
  )


# y, threads = square_roots(x, block=1000): the square roots of a float32
# vector, by tasks of 1000 elements; and the threads of the handler and of each
# task.
square_roots = kit.call(
    "example_square_roots",
    library=_LIBRARY,
    results=_results,
    attributes={"block": np.int64},
    vmap_method="sequential",
)

# How many threads the pool has.
pool_size = kit.call(
    "example_pool_size",
    library=_LIBRARY,
    results=lambda: jax.ShapeDtypeStruct((), np.int64),
)
