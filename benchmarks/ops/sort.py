# SPDX-License-Identifier: Apache-2.0
"""sort of the last axis."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
import sort_peers


def _integers(x):
  """As integers, which XLA compares faster, where no zero is negative."""
  keys = jnp.sort(sort_peers.integer_keys(x))
  return jax.lax.bitcast_convert_type(
      jnp.where(keys < 0, keys ^ jnp.iinfo(keys.dtype).max, keys), x.dtype
  )


CASE = CASES["sort"].beside(
    {"jax.numpy, integers": _integers},
    libraries={
        "torch": lambda nn, x: x.sort(-1).values,
        "numpy": lambda np, x: np.sort(x),
    },
)
