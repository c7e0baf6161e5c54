# SPDX-License-Identifier: Apache-2.0
"""Sorts arrays together, by one or more of them."""

from collections.abc import Sequence
import functools
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.argsort import argsort
from jax_ffi_ops.ops.common import namesake
from jax_ffi_ops.ops.sort import has_one_nan
from jax_ffi_ops.ops.sort import sort


@kit.public(*kit.ops_of(argsort), *kit.ops_of(sort))
def lax_sort(
    operand: Any,
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Any:
  """Sorts arrays by the first of them: jax.lax.sort, faster on a CPU.

  The order is the same as in jax_ffi_ops.sort. Equal elements keep their order,
  also with is_stable=False.

  Args:
    operand: an array, or a sequence of arrays of one shape.
    dimension: the axis to sort along.
    is_stable: see above.
    num_keys: how many of the arrays are keys. A key decides between elements
      that are equal in all keys before it.

  Returns:
    The sorted array, or a tuple of all arrays in the same order.

  Raises:
    TypeError, ValueError: as jax.lax.sort does.
  """
  several = isinstance(operand, Sequence)
  operands = operand if several else [operand]
  found = sorted_by(operands, dimension, is_stable, num_keys)
  if found is None:
    return jax.lax.sort(operand, dimension, is_stable, num_keys)
  return found if several else found[0]


def sorted_by(
    operands: Sequence[Any], dimension: Any, is_stable: Any, num_keys: Any
) -> tuple[jax.Array, ...] | None:
  """Returns the tuple of sorted arrays, or None if that is left to jax."""
  if not isinstance(num_keys, numbers.Integral) or dimension is None:
    return None
  if not namesake.are_bools(is_stable):
    return None
  if not 1 <= num_keys <= len(operands):
    return None
  (op,) = kit.ops_of(argsort)
  keys = [namesake.along_axis(op, x, dimension) for x in operands[:num_keys]]
  if None in keys or not all(map(_is_array, operands[num_keys:])):
    return None
  arrays = [*(x for x, _ in keys), *map(jnp.asarray, operands[num_keys:])]
  axis = keys[0][1]
  if any(x.shape != arrays[0].shape for x in arrays):
    return None
  if any(map(namesake.is_split, arrays)):
    return None  # jax has rules for explicit shardings.
  size = arrays[0].shape[axis]
  if not isinstance(size, int) or size > namesake.MOST_INDEXED:
    return None
  if len(arrays) == 1:
    return (sort(arrays[0], axis),)
  return _sorted(arrays, axis, int(num_keys))


def _is_array(x):
  return isinstance(x, (jax.Array, np.ndarray)) and any(
      jnp.issubdtype(x.dtype, kind) for kind in (jnp.number, jnp.bool)
  )


@functools.partial(jax.jit, static_argnums=(1, 2))
def _sorted(arrays, axis, num_keys):
  # By the last key first: a sort keeps the order of elements with equal keys.
  order = argsort(arrays[num_keys - 1], axis, dtype=np.int32)
  for key in arrays[: num_keys - 1][::-1]:
    order = _taken(order, argsort(_taken(key, order, axis), axis), axis)
  return tuple(_taken(x, order, axis) for x in arrays)


def _taken(x, order, axis):
  y = jnp.take_along_axis(x, order, axis, mode="promise_in_bounds")
  if x.dtype != jnp.bfloat16 or not has_one_nan(x.shape[axis]):
    return y
  return _without_payload(y)


@jax.custom_jvp
def _without_payload(x):
  """Returns bfloat16 as XLA sorts it here: NaNs keep only their sign."""
  bits = jax.lax.bitcast_convert_type(x, np.uint16)
  bits = jnp.where(jnp.isnan(x), bits & 0x8000 | 0x7FC0, bits)
  return jax.lax.bitcast_convert_type(bits, x.dtype)


_without_payload.defjvps(lambda x_dot, y, x: x_dot)
