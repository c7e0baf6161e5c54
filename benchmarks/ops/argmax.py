# SPDX-License-Identifier: Apache-2.0
"""argmax of the last axis."""

import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import argmax
from operands import array


def _two_passes(a, *, axis):
  """Finds the maximum, and then its first place."""
  n = a.shape[axis]
  found = (a == jnp.max(a, axis, keepdims=True)) | (a != a)
  return jnp.min(jnp.where(found, jnp.arange(n), n), axis)


ENTRY = Entry(
    function=argmax,
    operands=lambda rows, cols: (array(rows, cols),),
    attributes=lambda rows, cols: {"axis": -1},
    sizes=("64x64", "4096x256", "32x131072", "4096x4096", "1x16777216"),
    dtypes=("float32", "bfloat16", "int32", "int8"),
    streams={"forward": 1},  # a; the indices are few
    peers={"jax.numpy": jnp.argmax, "jax.numpy, two passes": _two_passes},
    libraries={
        "torch": lambda nn, a, axis: a.argmax(axis),
        "numpy": lambda np, a, axis: np.argmax(a, axis),
    },
)
