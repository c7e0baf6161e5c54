# SPDX-License-Identifier: Apache-2.0
"""Partitions an array around an element."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.argpartition import along_axis
from jax_ffi_ops.ops.argpartition import argpartition
from jax_ffi_ops.ops.argpartition import definition
from jax_ffi_ops.ops.common import libraries


def _in_order(x, order):
  return x.at[order].get(
      mode="promise_in_bounds",
      unique_indices=True,
      wrap_negative_indices=False,
  )


def _jvp(x, x_dot, *, kth):
  return _in_order(x_dot, argpartition(x, min(kth, x.size - 1)))


_partition = kit.op(
    "partition",
    library=libraries.beside(__file__),
    signature="(n,*)->(n,*)",
    attributes={"kth": kit.Attribute(np.int64, minimum=0)},
    reference=lambda x, *, kth: _in_order(x, definition(x, kth=kth)),
    dtypes=kit.ORDERED,
    derivatives=kit.Derivatives(jvp=_jvp),
    # For fewer elements, jax.numpy is faster in a program. With float32 it is, up
    # to 64: XLA has a fast top_k of it. But the reference, which sorts, is no
    # faster than the handler. To see it:
    # //benchmarks:benchmark --cpu-time --at-any-speed --lines=partition/1x16/*/*/program
    choice=kit.Choice(is_faster=lambda x, **_: x.size >= 16),
)


@kit.public(_partition, *kit.ops_of(argpartition))
def partition(a: Any, kth: int, axis: int = -1) -> jax.Array:
  """Partitions an array: jax.numpy.partition, faster on a CPU.

  Let p be the element at `kth` of the sorted array. First come the elements
  less than p, then those equal to p, then those greater than p. Each group
  keeps its order; in jax.numpy it may not. NaNs are the largest elements, as in
  NumPy. In jax.numpy, NaNs with a sign bit are the smallest.

  Args:
    a: an array. Handlers take bool, int8 to int64, uint8 to uint64, float16,
      bfloat16, float32 and float64, on the CPU. jax.numpy computes other
      arrays.
    kth: an integer, the index along the axis.
    axis: an integer.

  Returns:
    An array of the shape and dtype of `a`.

  Raises:
    TypeError, ValueError, NotImplementedError: as jax.numpy.partition does.
  """
  taken = along_axis(a, kth, axis)
  if taken is None:
    return jnp.partition(a, kth, axis)
  x, kth, axis = taken
  return _partition(x, axis=axis, kth=kth)
