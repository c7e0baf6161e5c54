# SPDX-License-Identifier: Apache-2.0
"""argsort of the last axis."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import argsort
from operands import array
import sort_sizes


def _integers(x):
  """As integers, which XLA compares faster, where no zero is negative."""
  keys = sort_sizes.integer_keys(x)
  indices = jax.lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)
  return jax.lax.sort((keys, indices), num_keys=1)[1]


ENTRY = Entry(
    function=argsort,
    operands=lambda rows, cols: (array(rows, cols),),
    sizes=sort_sizes.SIZES,
    streams={"forward": 2},  # x, y
    peers={"jax.numpy": jnp.argsort, "jax.numpy, integers": _integers},
    libraries={
        "torch": lambda nn, x: x.argsort(-1, stable=True),
        "numpy": lambda np, x: np.argsort(x),
    },
)
