# SPDX-License-Identifier: Apache-2.0
"""histogram of a vector: its length x bins."""

import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES


def _unrolled(a, *, bins):
  edges = jnp.histogram_bin_edges(a, bins)
  places = jnp.searchsorted(edges, a, side="right", method="scan_unrolled")
  places = jnp.where(a == edges[-1], bins, places)
  return jnp.zeros(bins + 1, a.dtype).at[places].add(1)[1:], edges


CASE = CASES["histogram"].beside(
    {"jax.numpy, unrolled": _unrolled},
    libraries={"numpy": lambda np, a, bins: np.histogram(a, bins)},
)
