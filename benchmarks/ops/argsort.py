# SPDX-License-Identifier: Apache-2.0
"""argsort of the last axis."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
import sort_peers


def _integers(x):
  """As integers, which XLA compares faster, where no zero is negative."""
  keys = sort_peers.integer_keys(x)
  indices = jax.lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)
  return jax.lax.sort((keys, indices), num_keys=1)[1]


CASE = CASES["argsort"].beside(
    {"jax.numpy, integers": _integers},
    libraries={
        "torch": lambda nn, x: x.argsort(-1, stable=True),
        "numpy": lambda np, x: np.argsort(x),
    },
)
