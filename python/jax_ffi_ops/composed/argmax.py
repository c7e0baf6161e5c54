# SPDX-License-Identifier: Apache-2.0
"""The index of the maximum."""

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _first_of


@kit.public()
def argmax(
    a: jax.Array,
    axis: int | None = None,
    out: None = None,
    keepdims: bool | None = None,
) -> jax.Array:
  """Returns the index of the maximum: jax.numpy.argmax, faster on a CPU.

  If several elements are equal to the maximum, it is the index of the first
  one. If there are NaNs, it is that of the first NaN. The function finds the
  maximum of each block, and then its place in one block. jax.numpy computes
  small arrays and complex ones.

  Args:
    a: an array.
    axis: the axis to look along. If it is None, the array is flattened.
    out: not supported by jax.
    keepdims: whether to keep the axis, with size 1.

  Returns:
    An array of indices.

  Raises:
    TypeError, ValueError: as jax.numpy.argmax does.
  """
  return _first_of.index(
      jnp.argmax, jnp.maximum, jnp.max, a, axis, out, keepdims
  )
