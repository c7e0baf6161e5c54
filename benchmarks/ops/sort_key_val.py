# SPDX-License-Identifier: Apache-2.0
"""sort_key_val of the last axis: keys, and their indices."""

import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES


def _gather(keys, values):
  """As XLA does it, but that it moves the indices alone."""
  order = jnp.argsort(keys)
  take = lambda x: jnp.take_along_axis(x, order, -1)
  return take(keys), take(values)


def _torch(nn, keys, values):
  keys, order = keys.sort(-1, stable=True)
  return keys, values.gather(-1, order)


def _numpy(np, keys, values):
  order = np.argsort(keys, stable=True)
  return np.take_along_axis(keys, order, -1), np.take_along_axis(
      values, order, -1
  )


CASE = CASES["sort_key_val"].beside(
    {"jax.numpy, gather": _gather},
    libraries={"torch": _torch, "numpy": _numpy},
)
