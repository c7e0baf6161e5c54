# SPDX-License-Identifier: Apache-2.0
"""What peers of the ops that sort have in common."""

import jax
import jax.numpy as jnp


def integer_keys(x: jax.Array) -> jax.Array:
  """Returns signed integers in the order of floating-point numbers."""
  integer = jnp.dtype(f"int{8 * x.dtype.itemsize}")
  bits = jax.lax.bitcast_convert_type(x, integer)
  return jnp.where(bits < 0, bits ^ jnp.iinfo(integer).max, bits)
