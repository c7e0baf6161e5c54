# SPDX-License-Identifier: Apache-2.0
"""softmax of the last axis."""

import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases.norms import wide
import pallas_peers


def _reciprocal(x):
  """A division per row."""
  powers = jnp.exp(wide(x) - wide(x).max(-1, keepdims=True))
  return (powers * (1 / powers.sum(-1, keepdims=True))).astype(x.dtype)


def _numpy(np, x):
  powers = np.exp(x - x.max(-1, keepdims=True))
  return powers / powers.sum(-1, keepdims=True)


CASE = CASES["softmax"].beside(
    {
        "jax.numpy, reciprocal": _reciprocal,
        **pallas_peers.peers("softmax"),
    },
    libraries={
        "torch": lambda nn, x: nn.softmax(x, -1),
        "liger": lambda liger, x: liger.liger_softmax(x),
        "quack": lambda quack, x: quack.softmax(x),
        "numpy": _numpy,
        "scipy": lambda special, x: special.softmax(x, -1),
    },
)
