# SPDX-License-Identifier: Apache-2.0
"""nonzero of a vector, of which a tenth is true."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import nonzero
from operands import Operand


def _draw(key, shape):
  return jax.random.bernoulli(key, 0.1, shape)


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


ENTRY = Entry(
    function=nonzero,
    operands=lambda n: (Operand((n,), _draw),),
    attributes=lambda n: {"size": n // 8},
    sizes=("1000", "100000", "1048576", "16777216"),
    dtypes=("bool", "float32"),
    streams={"forward": 1.5},  # a; indices, of an eighth as many int32
    peers={"jax.numpy": jnp.nonzero, "jax.numpy, scatter": _scatter},
    libraries={
        "torch": lambda nn, a, size: nn.torch.nonzero_static(a, size=size)[
            :, 0
        ],
        "numpy": _numpy,
    },
)
