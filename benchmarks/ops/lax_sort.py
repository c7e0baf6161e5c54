# SPDX-License-Identifier: Apache-2.0
"""lax_sort by two keys, and their indices with them."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import lax_sort
from operands import array
from operands import indices
import sort_sizes


def _sort(function):
  return lambda *operands: function(operands, num_keys=2)


def _gather(first, second, values):
  """Sorts indices only, and then gathers all arrays."""
  order = jnp.lexsort((second, first))
  take = lambda x: jnp.take_along_axis(x, order, -1)
  return take(first), take(second), take(values)


def _numpy(np, first, second, values):
  order = np.lexsort((second, first))
  return tuple(
      np.take_along_axis(x, order, -1) for x in (first, second, values)
  )


ENTRY = Entry(
    function=_sort(lax_sort),
    operands=lambda rows, cols: (
        indices(1000, rows, cols),
        array(rows, cols),
        indices(cols, rows, cols),
    ),
    sizes=sort_sizes.SIZES,
    streams={"forward": 6},  # all, and all sorted
    peers={"jax.lax": _sort(jax.lax.sort), "jax.numpy, gather": _gather},
    libraries={"numpy": _numpy},
)
