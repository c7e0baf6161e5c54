# SPDX-License-Identifier: Apache-2.0
"""What an op's time is compared with, and what calls are separated by."""

from collections.abc import Sequence
import functools
import pathlib

import jax

from jax_ffi_ops import kit

_LIBRARY = kit.Library(pathlib.Path(__file__).with_name("libstreams_ext.so"))


def _like(x, *_):
  return jax.ShapeDtypeStruct(x.shape, x.dtype)


# copy(x) is x, and add(a, b) has the bytes of a sum of 32-bit integers: two and
# three streams of memory, by all threads of XLA's pool.
copy = kit.call("benchmarks_copy", library=_LIBRARY, results=_like)
add = kit.call("benchmarks_add", library=_LIBRARY, results=_like)


@functools.cache
def _barrier(count):
  return kit.call(
      "benchmarks_barrier",
      library=_LIBRARY,
      results=lambda *arrays: tuple(map(_like, arrays[:count])),
      input_output_aliases={i: i for i in range(count)},
  )


def barrier(
    arrays: Sequence[jax.Array], results: Sequence[jax.Array]
) -> tuple[jax.Array, ...]:
  """Returns the arrays, by a call of which XLA does not know what it does.

  XLA computes all results before it, and can hoist nothing of the arrays out of
  a loop. (It ignores its own barriers on the CPU.)
  """
  return _barrier(len(arrays))(*arrays, *results)
