# SPDX-License-Identifier: Apache-2.0
"""argmax of the last axis."""

import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES


def _two_passes(a, *, axis):
  """Finds the maximum, and then its first place."""
  n = a.shape[axis]
  found = (a == jnp.max(a, axis, keepdims=True)) | (a != a)
  return jnp.min(jnp.where(found, jnp.arange(n), n), axis)


CASE = CASES["argmax"].beside(
    {"jax.numpy, two passes": _two_passes},
    libraries={
        "torch": lambda nn, a, axis: a.argmax(axis),
        "numpy": lambda np, a, axis: np.argmax(a, axis),
    },
)
