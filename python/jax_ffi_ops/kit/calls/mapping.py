# SPDX-License-Identifier: Apache-2.0
"""Maps a function of core arrays over loop dimensions that may broadcast."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.dimensions import Shape

_Function = Callable[..., tuple[jax.Array, ...]]


def loop(function: _Function, arrays: Sequence[Parts]) -> _Function:
  """Returns `function` over arrays of these shapes.

  Results have the loop dimensions that any array has, in full.
  """
  # Trailing loops are the inner ones, so that an op in `function` meets the
  # last axis as the batch, which it may leave in place.
  inner = _map_over(function, [x.trailing[::-1] for x in arrays], axis=-1)
  return _map_over(inner, [x.leading for x in arrays], axis=0)


def _map_over(function: _Function, loops: Sequence[Shape], axis: int):
  """Maps over loop dimensions, the outermost first, along the same axis."""
  if not any(loops):
    return function
  sizes = [dims[0] for dims in loops if dims]
  full = next((size for size in sizes if size != 1), 1)
  inner = _map_over(function, [dims[1:] for dims in loops], axis)
  is_mapped = lambda dims: dims and dims[0] == full != 1
  axes = [axis if is_mapped(dims) else None for dims in loops]

  def looped(*operands):
    # A dimension of 1 that is broadcast is dropped: vmap then copies nothing.
    operands = (
        operand if own is not None or not dims else jnp.squeeze(operand, axis)
        for operand, own, dims in zip(operands, axes, loops, strict=True)
    )
    if full == 1:  # Not a batch: XLA gets less code.
      found = inner(*operands)
      return jax.tree.map(lambda x: jnp.expand_dims(x, axis), found)
    return jax.vmap(inner, axes, axis)(*operands)

  return looped


def fill(x: jax.Array, own: Parts, full: Parts) -> jax.Array:
  """Broadcasts an array that has 1s, or lacks the last loop dimensions."""
  missing = len(full.trailing) - len(own.trailing)
  x = jnp.expand_dims(x, range(x.ndim, x.ndim + missing))
  x = jnp.expand_dims(x, range(len(own.leading), len(full.leading)))
  return jnp.broadcast_to(x, full.shape)


def sum_to(x: jax.Array, full: Parts, own: Parts) -> jax.Array:
  """Sums over the loop dimensions that `fill` has added."""
  axes = [*range(len(own.leading), len(full.leading))]
  if not own.trailing:
    first = len(full.leading) + len(full.core)
    axes += range(first, first + len(full.trailing))
  return jnp.sum(x, axes, dtype=x.dtype) if axes else x


def broadcast(x: jax.Array, core_rank: int, shape: Parts) -> jax.Array:
  """Broadcasts an array with all or none of the loop dimensions, or with 1s."""
  own = Parts((), shape.core, ()) if x.ndim == core_rank else shape
  return fill(x, own, shape)
