# SPDX-License-Identifier: Apache-2.0
"""The bins that numbers are in, where all bins are about equally wide."""

from typing import Any

import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _inexact
from jax_ffi_ops.kit import dtypes

# Where it is faster: see //benchmarks, --lines=histogram. With more bins,
# float32 has too few bits for positions.
_LEAST_SIZE = 2**15
_MOST_BINS = 2**20


def is_served(bins: Any, *arrays: Any) -> bool:
  """Returns whether `places` is for these arrays and this number of bins."""
  if not isinstance(bins, int | np.integer) or not 0 < bins <= _MOST_BINS:
    return False
  # Edges of 16 bits are rarely at equal distances.
  return all(
      isinstance(x, jax.Array | np.ndarray)
      and x.dtype in kit.ORDERED
      and _inexact.dtype(x).itemsize > 2
      and all(isinstance(n, int) for n in x.shape)  # Not symbolic.
      and x.size >= _LEAST_SIZE
      for x in arrays
  )


@jax.jit
def places(edges: jax.Array, x: jax.Array) -> jax.Array:
  """Returns jax.numpy.searchsorted(edges, x, side="right").

  On a CPU, if the edges are at about equal distances, it computes which edge is
  near each number, and compares the number with that edge.
  """
  return lax.platform_dependent(edges, x, cpu=_by_arithmetic, default=_search)


def _search(edges, x):
  return jnp.searchsorted(edges, x, side="right").astype(np.int32)


def _by_arithmetic(edges, x):
  bins = len(edges) - 1
  wide = dtypes.widened(x.dtype)
  first, last = edges[0].astype(wide), edges[-1].astype(wide)
  position = lambda x: (x.astype(wide) - first) * (bins / (last - first))

  def nearest(edges, x):
    near = jnp.round(position(x))
    near = jnp.where(near < bins, near, bins)  # NaN, too.
    near = jnp.maximum(near, 0).astype(np.int32)
    edge = edges.at[near].get(mode="promise_in_bounds")
    return near + (~(x < edge)).astype(np.int32)

  # Rounding keeps the order. So if each edge is near its position, a number
  # between two edges is near one of them. Of a range that falls, the positions
  # rise, but the edges do not: what a search returns there is jax's own.
  rises = last > first
  even = jnp.abs(position(edges) - jnp.arange(bins + 1, dtype=wide)) < 0.25
  return lax.cond(rises & jnp.all(even), nearest, _search, edges, x)
