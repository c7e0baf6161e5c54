# SPDX-License-Identifier: Apache-2.0
"""What is smaller before, and what is larger after an element."""

import numbers
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.ops.sort import sort


@kit.public(*kit.ops_of(sort))
def partition(a: Any, kth: int, axis: int = -1) -> jax.Array:
  """Partitions an array: jax.numpy.partition, faster on a CPU.

  Like jax.numpy's, the result has the element there that a sorted array has at
  `kth`. What is before it is not larger, and what is after it not smaller; its
  order may differ from jax.numpy's. NaNs are the largest, as they are in NumPy;
  in jax.numpy those whose sign bit is set are the smallest.

  Args:
    a: an array.
    kth: an integer, the index along the axis.
    axis: an integer.

  Returns:
    An array of the shape and dtype of `a`.

  Raises:
    TypeError, ValueError, NotImplementedError: as jax.numpy.partition does.
  """
  if not is_taken(a, kth, axis):
    return jnp.partition(a, kth, axis)
  return sort(a, axis)


def is_taken(a: Any, kth: Any, axis: Any) -> bool:
  """Returns whether an array is sorted, and not left to jax."""
  if axis is None or not isinstance(kth, numbers.Integral):
    return False
  taken = kit.along_axis(kit.ops_of(sort)[0], a, axis)
  if taken is None or taken[0].dtype == bool:
    return False
  size = taken[0].shape[taken[1]]
  return isinstance(size, int) and -size <= kth < size <= 2**31
