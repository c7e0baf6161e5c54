# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of ops that sort have in common."""

import jax
import jax.numpy as jnp

# Small ones first; many short rows, long ones, and one row.
SIZES = (
    "8x4",
    "4096x256",
    "16x65536",
    "1x100000",
    "1x1048576",
    "1x16777216",
)


def integer_keys(x: jax.Array) -> jax.Array:
  """Returns signed integers in the order of floating-point numbers."""
  integer = jnp.dtype(f"int{8 * x.dtype.itemsize}")
  bits = jax.lax.bitcast_convert_type(x, integer)
  return jnp.where(bits < 0, bits ^ jnp.iinfo(integer).max, bits)
