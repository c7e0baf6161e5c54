# SPDX-License-Identifier: Apache-2.0
"""A dot product that jax.vmap batches in seven ways, by one handler."""

import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

_LIBRARY = kit.Library(
    pathlib.Path(__file__).with_name("libvmap_methods_ext.so")
)


def _dot(method):
  return kit.call(
      "example_dot_fwd",
      library=_LIBRARY,
      results=lambda x, w: jax.ShapeDtypeStruct(
          np.broadcast_shapes(x.shape[:-1], w.shape[:-1]), x.dtype
      ),
      vmap_method=method,
  )


# What jax's documents no longer advise; None is the default.
BY_METHOD = {
    method: _dot(method)
    for method in (
        None,
        "sequential",
        "sequential_unrolled",
        "expand_dims",
        "broadcast_all",
        "legacy_vectorized",
    )
}


# A rule of its own. It sees where the batch is, and may do anything: call
# another handler, say. This one does what expand_dims does.
@jax.custom_batching.custom_vmap
def by_rule(x: jax.Array, w: jax.Array) -> jax.Array:
  """Returns (x * w).sum(-1) for float32 arrays."""
  return BY_METHOD[None](x, w)


@by_rule.def_vmap
def _rule(size, batched, x, w):
  del size
  x, w = (v if b else v[None] for v, b in zip((x, w), batched))
  return by_rule(x, w), True


# The kit derives the rule from the signature, and derivatives besides.
by_signature = kit.op(
    "example_dot",
    library=_LIBRARY,
    signature="(d),(d)->()",
    reference=lambda x, w: (x * w).sum(),
    dtypes=("float32",),
)

# How often the handler was called; the rank and the rows of w in the last call.
calls = kit.call(
    "example_dot_calls",
    library=_LIBRARY,
    results=lambda: (jax.ShapeDtypeStruct((), np.int32),) * 3,
    has_side_effect=True,
)
