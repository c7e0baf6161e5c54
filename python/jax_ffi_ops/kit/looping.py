# SPDX-License-Identifier: Apache-2.0
"""Maps a function of core arrays over loop dimensions that may broadcast."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.signature import Shape


def loop(
    function: Callable[..., tuple[jax.Array, ...]], loops: Sequence[Shape]
) -> Callable[..., tuple[jax.Array, ...]]:
  """Returns `function` over operands with these loop dimensions.

  An operand has each loop dimension in full or as 1, or has none at all; the
  results have all of them in full.
  """
  rank = max(map(len, loops), default=0)
  if rank == 0:
    return function
  sizes = [dims[0] for dims in loops if dims]
  full = next((size for size in sizes if size != 1), 1)
  inner = loop(function, [dims[1:] for dims in loops])
  axes = [0 if dims and dims[0] == full else None for dims in loops]

  def looped(*operands):
    # A dimension of 1 that is broadcast is dropped: vmap then copies nothing.
    return jax.vmap(inner, axes)(
        *(
            operand if axis == 0 or not dims else jnp.squeeze(operand, 0)
            for operand, axis, dims in zip(operands, axes, loops, strict=True)
        )
    )

  return looped


def add_batch_dimension(
    operands: Sequence[jax.Array],
    batch_axes: Sequence[int | None],
    ranks: Sequence[int],
) -> list[jax.Array]:
  """Adds a leading loop dimension for vmap.

  Args:
    operands: arrays, some with a batch axis somewhere.
    batch_axes: where; None for an operand that has none.
    ranks: how many loop dimensions each operand has by now; those without any
      get as many dimensions of 1 as the others have.
  """
  rank = max(ranks)
  batched = []
  for operand, axis, own in zip(operands, batch_axes, ranks, strict=True):
    if axis is not None:
      operand = jnp.moveaxis(operand, axis, 0)
      operand = jnp.expand_dims(operand, range(1, 1 + rank - own))
    elif own:
      operand = operand[None]
    batched.append(operand)
  return batched
