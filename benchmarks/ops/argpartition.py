# SPDX-License-Identifier: Apache-2.0
"""argpartition of the last axis around its median."""

import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import argpartition
from operands import array
import sort_sizes


def _at(xp, x, order, kth):
  """Elements on each side may be in any order: the one at `kth` is compared."""
  return xp.take_along_axis(x, order[..., kth : kth + 1], -1)


ENTRY = Entry(
    function=lambda x, *, kth: _at(jnp, x, argpartition(x, kth), kth),
    operands=lambda rows, cols: (array(rows, cols),),
    attributes=lambda rows, cols: {"kth": cols // 2},
    sizes=sort_sizes.SIZES,
    streams={"forward": 2},  # x, y
    peers={
        "jax.numpy": lambda x, *, kth: _at(
            jnp, x, jnp.argpartition(x, kth), kth
        )
    },
    libraries={
        "numpy": lambda np, x, kth: _at(np, x, np.argpartition(x, kth), kth)
    },
)
