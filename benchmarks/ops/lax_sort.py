# SPDX-License-Identifier: Apache-2.0
"""lax_sort by two keys, and their indices with them."""

import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES


def _gather(first, second, values):
  """Sorts indices only, and then gathers all arrays."""
  order = jnp.lexsort((second, first))
  take = lambda x: jnp.take_along_axis(x, order, -1)
  return take(first), take(second), take(values)


def _numpy(np, first, second, values):
  order = np.lexsort((second, first))
  return tuple(
      np.take_along_axis(x, order, -1) for x in (first, second, values)
  )


CASE = CASES["lax_sort"].beside(
    {"jax.numpy, gather": _gather}, libraries={"numpy": _numpy}
)
