# SPDX-License-Identifier: Apache-2.0
"""How `jax.vmap` folds an axis into a call: as one more loop dimension.

One call of a handler results, never a loop over calls. Each rule here returns
operands and a call with the dimension, and the axis of the results that it is.
"""

from collections.abc import Sequence
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.forward import ForwardCall

_Arrays = Sequence[jax.Array]
_Axes = Sequence[int | None]  # None: all examples share the operand.


def forward(
    operands: _Arrays, axes: _Axes, call: ForwardCall
) -> tuple[list[jax.Array], ForwardCall, int]:
  """The batch becomes the first leading dimension, or the last trailing one."""
  op = call.op
  dims = call.dimensions([_without(x, axis) for x, axis in zip(operands, axes)])
  starred = [op.axes[name][1] for name in op.operands]
  each = list(zip(operands, axes, dims.arrays, starred))
  # The batch that is last in all operands stays there: nothing is transposed.
  if op.signature.starred and all(
      axis is None or (star and axis == x.ndim - 1) for x, axis, _, star in each
  ):
    batched = [
        _add_trailing(x, axis, parts, dims) if star else x
        for x, axis, parts, star in each
    ]
    rank = call.trailing_rank + 1
    return batched, dataclasses.replace(call, trailing_rank=rank), -1
  batched = [
      _add_leading(x, axis, parts, dims, star) for x, axis, parts, star in each
  ]
  return batched, call, 0


def backward(
    operands: _Arrays, axes: _Axes, call: BackwardCall
) -> tuple[list[jax.Array], BackwardCall, int]:
  """The batch becomes the first loop dimension, of 1 in what is shared."""
  batched = [
      jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
      for x, axis in zip(operands, axes)
  ]
  return batched, dataclasses.replace(call, batch_rank=call.batch_rank + 1), 0


def _without(x: Any, axis: int | None) -> jax.ShapeDtypeStruct:
  """Returns the type of one example."""
  shape = x.shape if axis is None else (*x.shape[:axis], *x.shape[axis + 1 :])
  return jax.ShapeDtypeStruct(shape, x.dtype)


def _add_leading(
    x: jax.Array, axis: int | None, parts: Parts, dims: Dimensions, star: bool
) -> jax.Array:
  """Makes the batch the first axis.

  Args:
    x: the array.
    axis: the batch, if `x` has it.
    parts: the shape of an example.
    dims: of the call of an example.
    star: whether the array may have trailing loops.
  """
  if axis is None:
    return x[None] if parts.rank else x
  x = jnp.moveaxis(x, axis, 0)
  if parts.rank or not dims.rank:
    return x
  # It had no loops, and gets dimensions of 1 for those of the others.
  if star:
    x = jnp.expand_dims(x, range(x.ndim, x.ndim + len(dims.trailing)))
  return jnp.expand_dims(x, range(1, 1 + len(dims.leading)))


def _add_trailing(
    x: jax.Array, axis: int | None, parts: Parts, dims: Dimensions
) -> jax.Array:
  """As `_add_leading`, but the batch is the last axis and remains it."""
  if axis is None:
    return x[..., None] if parts.rank else x
  if parts.rank or not dims.rank:
    return x
  first = len(parts.core)
  x = jnp.expand_dims(x, range(first, first + len(dims.trailing)))
  return jnp.expand_dims(x, range(len(dims.leading)))
