# SPDX-License-Identifier: Apache-2.0
"""sort of the last axis."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import sort
from operands import array
import sort_sizes


def _integers(x):
  """As integers, which XLA compares faster, where no zero is negative."""
  keys = jnp.sort(sort_sizes.integer_keys(x))
  return jax.lax.bitcast_convert_type(
      jnp.where(keys < 0, keys ^ jnp.iinfo(keys.dtype).max, keys), x.dtype
  )


ENTRY = Entry(
    function=sort,
    operands=lambda rows, cols: (array(rows, cols),),
    sizes=sort_sizes.SIZES,
    streams={"forward": 2},  # x, y
    peers={"jax.numpy": jnp.sort, "jax.numpy, integers": _integers},
    libraries={
        "torch": lambda nn, x: x.sort(-1).values,
        "numpy": lambda np, x: np.sort(x),
    },
)
