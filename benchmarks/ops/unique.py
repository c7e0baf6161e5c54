# SPDX-License-Identifier: Apache-2.0
"""unique of a vector of a thousand values, with inverse and counts."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import unique
from operands import Operand


def _draw(key, shape):
  return jax.random.randint(key, shape, 0, 1000)


ENTRY = Entry(
    function=unique,
    operands=lambda n: (Operand((n,), _draw),),
    attributes=lambda n: dict(
        size=1000, return_inverse=True, return_counts=True
    ),
    sizes=("100000", "1048576", "16777216"),
    dtypes=("int32", "float32"),
    streams={"forward": 2},  # x; as many indices
    peers={"jax.numpy": jnp.unique},
    libraries={
        "torch": lambda nn, x, size, **options: nn.torch.unique(x, **options),
        "numpy": lambda np, x, size, **options: np.unique(x, **options),
    },
)
