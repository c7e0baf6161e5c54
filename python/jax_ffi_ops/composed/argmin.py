# SPDX-License-Identifier: Apache-2.0
"""The index of the minimum."""

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _first_of


@kit.public()
@_first_of.documented
def argmin(
    a: jax.Array,
    axis: int | None = None,
    out: None = None,
    keepdims: bool | None = None,
) -> jax.Array:
  """Returns the index of the minimum: jax.numpy.argmin, faster on a CPU."""
  return _first_of.index(
      jnp.argmin, jnp.minimum, jnp.min, a, axis, out, keepdims
  )
