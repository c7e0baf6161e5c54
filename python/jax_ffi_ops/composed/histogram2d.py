# SPDX-License-Identifier: Apache-2.0
"""Histograms of two variables."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _bins
from jax_ffi_ops.composed import _inexact


@kit.public()
def histogram2d(
    x: jax.Array,
    y: jax.Array,
    bins: Any = 10,
    range: Any = None,
    weights: jax.Array | None = None,
    density: bool | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Returns a histogram of points: jax.numpy.histogram2d, faster on a CPU.

  It computes bins as jax_ffi_ops.histogram does, which also describes the edges
  under jit. jax.numpy computes calls with edges, and small arrays.

  Args:
    x: a vector.
    y: a vector of the same length.
    bins: the number of bins, or the edges; or a pair of these.
    range: a pair for `x` and a pair for `y`: the first and the last edge. None
      stands for the minimum and maximum, and is the default.
    weights: a vector of the same length; by default all are 1.
    density: whether to divide the counts by their sum and the areas of bins.

  Returns:
    The counts, or sums of weights; the edges of `x`; and those of `y`.

  Raises:
    TypeError, ValueError: as jax.numpy.histogram2d does.
  """
  arrays = (x, y) if weights is None else (x, y, weights)
  pair = bins if isinstance(bins, list | tuple) else (bins, bins)
  ranges = (None, None) if range is None else range
  if (
      len(pair) != 2
      or not all(_bins.is_served(number, *arrays) for number in pair)
      or any(array.shape != (x.size,) for array in arrays)
      or not isinstance(ranges, list | tuple)
      or len(ranges) != 2
      or any(pair_ is not None and np.shape(pair_) != (2,) for pair_ in ranges)
  ):
    return jnp.histogram2d(x, y, bins, range, weights, density)
  x, y, *given = _inexact.arrays(*arrays)
  all_edges, all_places = [], []
  for values, number, ends in zip((x, y), pair, ranges):
    edges = jnp.histogram_bin_edges(values, number, ends)
    places = _bins.places(edges, values)
    is_last = values == edges[-1]
    all_places.append(places - is_last.astype(places.dtype))
    all_edges.append(edges)
  shape = tuple(len(edges) + 1 for edges in all_edges)
  flat = jnp.ravel_multi_index(tuple(all_places), shape, mode="clip")
  weights = given[0] if given else None
  counts = jnp.bincount(flat, weights, length=shape[0] * shape[1])
  counts = counts.reshape(shape)[1:-1, 1:-1]
  if density:
    counts = counts.astype(x.dtype)
    counts /= counts.sum()
    for widths in jnp.ix_(*map(jnp.diff, all_edges)):
      counts /= widths
  return counts, *all_edges
