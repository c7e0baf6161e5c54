# SPDX-License-Identifier: Apache-2.0
"""The backward call: which loop dimensions it keeps and which it sums over.

A backward handler receives operands, residuals and cotangents with the leading
dimensions [loops..., rows...], of which `batch_rank` are loops. An operand that
rows share has just [loops...], and its cotangent is the sum over the rows; it
is what makes the gradient of a weight one call and not a batch of weights.
"""

from collections.abc import Callable, Sequence
import dataclasses

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit import signature as signatures
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.signature import Shape


@dataclasses.dataclass(frozen=True)
class BackwardCall:
  """The leading dimensions of one backward call."""

  batch_rank: int
  leading: Shape  # loops and rows, in full
  core_shapes: list[Shape]  # of operands, residuals, cotangents
  shared: list[bool]  # likewise: has [loops...] only
  results: list[int]  # the operands that have a cotangent

  @classmethod
  def of(
      cls, op: Declaration, operands: Sequence, attributes, batch_rank: int
  ) -> "BackwardCall":
    """Returns what the operands (or their avals) of a call imply."""
    shapes = [x.shape for x in operands]
    count = len(op.signature.operands)
    dims = [
        *op.signature.operands,
        *op.split_results(op.signature.results)[1],
        *op.differentiable_results(
            op.signature.results, operands[:count], attributes
        ),
    ]
    cores = op.signature.core_shapes(dims, shapes[:count])
    leading = [s[: len(s) - len(c)] for s, c in zip(shapes, cores, strict=True)]
    rank = max(map(len, leading))
    padded = [(*own, *(1,) * (rank - len(own))) for own in leading]
    return cls(
        batch_rank=batch_rank,
        leading=signatures.broadcast(padded),
        core_shapes=cores,
        shared=[len(own) < rank for own in leading],
        results=op.differentiable(operands[:count]),
    )

  def own_leading(self, index: int) -> Shape:
    """Returns the leading dimensions of an operand, in full."""
    end = self.batch_rank if self.shared[index] else len(self.leading)
    return self.leading[:end]

  def result_shapes(self) -> list[Shape]:
    return [
        (*self.own_leading(index), *self.core_shapes[index])
        for index in self.results
    ]


def reference(op, operands, attributes) -> tuple[jax.Array, ...]:
  """Returns the visible results that have tangents, by the reference."""
  results = op.call_reference(operands, attributes)
  return tuple(op.differentiable_results(results, operands, attributes))


def pull_back(
    op: Declaration,
    backward: Callable[..., Sequence[jax.Array]],
    operands: Sequence[jax.Array],
    residuals: Sequence[jax.Array],
    cotangents: Sequence[jax.Array],
) -> list[jax.Array]:
  """Returns the cotangents of the differentiable operands of a forward call."""
  loops = op.signature.loops([x.shape for x in operands])
  full = signatures.broadcast(loops)
  prefixes = [_shared_prefix(own, full) for own in loops]
  batch_rank = max((p for p in prefixes if p is not None), default=len(full))
  given = [
      x if prefix is None else _with_loops(x, len(own), batch_rank)
      for x, own, prefix in zip(operands, loops, prefixes)
  ]
  results = backward(*given, *residuals, *cotangents, batch_rank=batch_rank)
  gradients = []
  for index, x in zip(op.differentiable(operands), results, strict=True):
    # What the call does not sum: operands that broadcast in another way.
    x = _sum_to(x, given[index].shape)
    own = len(loops[index])
    if prefixes[index] is not None:
      x = _with_loops(x, batch_rank, own)
    gradients.append(x)
  return gradients


def backward_by_reference(
    op: Declaration, *operands: jax.Array, batch_rank: int, **attributes
) -> tuple[jax.Array, ...]:
  """Computes what the backward primitive stands for, by jax.vjp."""
  call = BackwardCall.of(op, operands, attributes, batch_rank)
  count = len(op.signature.operands)
  cotangents = operands[count + op.residuals :]
  rows = len(call.leading) - batch_rank

  def of_differentiable(*chosen):
    primals = list(operands[:count])
    for index, x in zip(call.results, chosen, strict=True):
      primals[index] = x
    for index, x in enumerate(primals):
      if call.shared[index]:
        primals[index] = jnp.expand_dims(
            x, range(batch_rank, batch_rank + rows)
        )
    return reference(op, primals, attributes)

  _, vjp = jax.vjp(
      of_differentiable,
      *(
          jnp.broadcast_to(operands[index], shape)
          for index, shape in zip(call.results, call.result_shapes())
      ),
  )
  first = count + op.residuals
  return vjp(
      tuple(
          jnp.broadcast_to(x, (*call.leading, *core))
          for x, core in zip(cotangents, call.core_shapes[first:], strict=True)
      )
  )


def _shared_prefix(own, full):
  """Returns how many leading dimensions an operand that rows share has.

  None for one that has all dimensions, or lacks others than the last ones.
  """
  if own == full:
    return None
  rank = len(own)
  while rank and own[rank - 1] == 1:
    rank -= 1
  return rank if own[:rank] == full[:rank] else None


def _with_loops(x, rank, new_rank):
  """Drops or adds the last of `rank` loop dimensions, all of them 1."""
  if new_rank < rank:
    return jnp.squeeze(x, tuple(range(new_rank, rank)))
  return jnp.expand_dims(x, tuple(range(rank, new_rank)))


def _sum_to(x, shape):
  axes = [d for d, size in enumerate(shape) if size == 1 and x.shape[d] != 1]
  return jnp.sum(x, axes, dtype=x.dtype, keepdims=True) if axes else x
