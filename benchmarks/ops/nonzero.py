# SPDX-License-Identifier: Apache-2.0
"""nonzero of a vector, of which a tenth is true."""

import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES


def _scatter(a, *, size):
  """Each true element writes its index to where it is among them."""
  mask = a != 0
  places = jnp.where(mask, jnp.cumsum(mask) - 1, size)
  return jnp.zeros(size, int).at[places].set(jnp.arange(len(a)), mode="drop")


def _numpy(np, a, *, size):
  indices = np.zeros(size, np.int64)
  found = np.flatnonzero(a)
  indices[: len(found)] = found
  return indices


CASE = CASES["nonzero"].beside(
    {"jax.numpy, scatter": _scatter},
    libraries={
        "torch": lambda nn, a, size: nn.torch.nonzero_static(a, size=size)[
            :, 0
        ],
        "numpy": _numpy,
    },
)
