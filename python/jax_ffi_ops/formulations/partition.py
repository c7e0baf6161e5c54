# SPDX-License-Identifier: Apache-2.0
"""Partitions an array around an element."""

import numbers
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.ops.sort import sort


@kit.public(*kit.ops_of(sort))
def partition(a: Any, kth: int, axis: int = -1) -> jax.Array:
  """Partitions an array: jax.numpy.partition, faster on a CPU.

  The result has the same element at `kth` as the sorted array. No element
  before it is larger, and none after it is smaller. On each side, the order may
  differ from that of jax.numpy. NaNs are the largest elements, as in NumPy;
  jax.numpy takes those whose sign bit is set for the smallest.

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
  """Returns whether a call is done by sorting, and not left to jax."""
  if axis is None or not isinstance(kth, numbers.Integral):
    return False
  taken = kit.along_axis(kit.ops_of(sort)[0], a, axis)
  if taken is None or taken[0].dtype == bool:
    return False
  size = taken[0].shape[taken[1]]
  return isinstance(size, int) and -size <= kth < size <= 2**31
