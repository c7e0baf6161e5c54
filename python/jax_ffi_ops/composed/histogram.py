# SPDX-License-Identifier: Apache-2.0
"""Histograms of one variable."""

from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _bins
from jax_ffi_ops.composed import _inexact


@kit.public()
def histogram(
    a: jax.Array,
    bins: Any = 10,
    range: Any = None,
    weights: jax.Array | None = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[jax.Array, jax.Array]:
  """Returns a histogram: jax.numpy.histogram, faster on a CPU.

  If `bins` is a number, the function computes the bin of each element instead
  of searching for it. jax.numpy computes calls with edges, small arrays and
  complex ones.

  For the same edges, the counts are the same bits as in jax.numpy. Under jit,
  XLA may round the edges differently in different programs. An element that
  close to an edge may then be in the next bin.

  Args:
    a: an array.
    bins: the number of bins, or their edges.
    range: the first and the last edge; by default the minimum and maximum of
      `a`.
    weights: an array of the shape of `a`; by default all are 1.
    density: whether to divide the counts by their sum and the widths of bins.
    out_sharding: an argument of jax.numpy.histogram from jax 0.12 on; it
      computes such calls.

  Returns:
    The counts, or sums of weights, in the dtype of `a`; and the edges.

  Raises:
    TypeError, ValueError: as jax.numpy.histogram does.
  """
  arrays = (a,) if weights is None else (a, weights)
  same_shape = weights is None or jnp.shape(weights) == jnp.shape(a)
  if out_sharding is not None:
    return jnp.histogram(
        a, bins, range, weights, density, out_sharding=out_sharding
    )
  if not _bins.is_served(bins, *arrays) or not same_shape:
    return jnp.histogram(a, bins, range, weights, density)
  a, *given = _inexact.arrays(*arrays)
  weights = given[0] if given else jnp.ones_like(a)
  edges = jnp.histogram_bin_edges(a, bins, range)
  places = _bins.places(edges, a)
  places = jnp.where(a == edges[-1], len(edges) - 1, places)
  counts = jnp.zeros(len(edges), a.dtype).at[places].add(weights)[1:]
  if density:
    counts = counts / jnp.diff(edges) / counts.sum()
  return counts, edges
