# SPDX-License-Identifier: Apache-2.0
"""histogram of a vector: its length x bins."""

import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import histogram
from operands import array


def _unrolled(a, *, bins):
  edges = jnp.histogram_bin_edges(a, bins)
  places = jnp.searchsorted(edges, a, side="right", method="scan_unrolled")
  places = jnp.where(a == edges[-1], bins, places)
  return jnp.zeros(bins + 1, a.dtype).at[places].add(1)[1:], edges


ENTRY = Entry(
    function=histogram,
    operands=lambda n, bins: (array(n),),
    attributes=lambda n, bins: {"bins": bins},
    sizes=("32768x10", "1048576x100", "1048576x10000"),
    dtypes=("float32",),
    streams={"forward": 1},  # a; the bins are few
    peers={"jax.numpy": jnp.histogram, "jax.numpy, unrolled": _unrolled},
    libraries={"numpy": lambda np, a, bins: np.histogram(a, bins)},
)
