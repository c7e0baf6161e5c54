# SPDX-License-Identifier: Apache-2.0
"""The indices that partition an array."""

import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import namesake


def definition(x: jax.Array, *, kth: int) -> jax.Array:
  """Returns the indices of a vector; kth may be beyond its end."""
  if not x.size:
    return jnp.zeros(0, np.int32)
  pivot = jnp.sort(x)[min(kth, x.size - 1)]
  less, greater = x < pivot, x > pivot
  if jnp.issubdtype(x.dtype, jnp.floating):
    less |= jnp.isnan(pivot) & ~jnp.isnan(x)
    greater |= ~jnp.isnan(pivot) & jnp.isnan(x)
  side = 1 - less.astype(np.int8) + greater.astype(np.int8)
  return jnp.argsort(side).astype(np.int32)


_argpartition = kit.op(
    "argpartition",
    library=libraries.beside(__file__),
    signature="(n,*)->(n,*)",
    attributes={"kth": kit.Attribute(np.int64, minimum=0)},
    reference=definition,
    dtypes=kit.ORDERED,
    # For fewer elements, jax.numpy is faster in a program. To see it:
    # //benchmarks:benchmark --cpu-time --at-any-speed --lines=argpartition/1x16/*/*/program
    choice=kit.Choice(is_faster=lambda x, **_: x.size >= 16),
)


@kit.public(_argpartition)
def argpartition(a: Any, kth: int, axis: int = -1) -> jax.Array:
  """Returns indices that partition: jax.numpy.argpartition, faster on a CPU.

  With these indices, `a` has the order that jax_ffi_ops.partition returns.

  Args:
    a: an array. Handlers take bool, int8 to int64, uint8 to uint64, float16,
      bfloat16, float32 and float64, on the CPU. jax.numpy computes other
      arrays.
    kth: an integer, the index along the axis.
    axis: an integer.

  Returns:
    An array of indices, of the shape of `a` and dtype int32.

  Raises:
    TypeError, ValueError, NotImplementedError: as jax.numpy.argpartition does.
  """
  taken = along_axis(a, kth, axis)
  if taken is None:
    return jnp.argpartition(a, kth, axis)
  x, kth, axis = taken
  return _argpartition(x, axis=axis, kth=kth)


def along_axis(
    a: Any, kth: Any, axis: Any
) -> tuple[jax.Array, int, int] | None:
  """Returns `a`, `kth` and `axis` for the op, or None if the call is jax's."""
  if axis is None or not isinstance(kth, numbers.Integral):
    return None
  taken = namesake.along_axis(_argpartition, a, axis)
  if taken is None or taken[0].dtype == bool:
    return None
  x, axis = taken
  size = x.shape[axis]
  if (
      not isinstance(size, int)
      or not -size <= kth < size <= namesake.MOST_INDEXED
  ):
    return None
  return x, int(kth) % size, axis
