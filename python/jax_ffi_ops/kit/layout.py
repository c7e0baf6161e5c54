# SPDX-License-Identifier: Apache-2.0
"""Which axes of a call's operands and results are the same leading dimension.

It says how a call may be split over devices: leading dimensions may be split,
core dimensions have to be whole, and what is summed over a leading dimension
that is split takes one all-reduce.
"""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

from jax.sharding import PartitionSpec

from jax_ffi_ops.kit import signature as signatures
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.rows import BackwardCall
from jax_ffi_ops.kit.signature import Shape

# Per axis of an array: the number of the leading dimension, or None for one
# that is not split: a core dimension, or a broadcast one.
Axes = tuple[int | None, ...]

# The mesh axes over which a leading dimension is split.
Split = Mapping[int, tuple[str, ...]]


@dataclasses.dataclass(frozen=True)
class Layout:
  """The axes of a call's operands and results."""

  operands: list[Axes]
  results: list[Axes]
  rank: int  # number of leading dimensions

  def summed(self, result: int) -> list[int]:
    """Returns the leading dimensions that a result is a sum over."""
    return [d for d in range(self.rank) if d not in self.results[result]]

  def split(
      self, mesh: Any, shapes: Sequence[Shape], specs: Sequence[PartitionSpec]
  ) -> Split:
    """Returns how to split a call whose operands (and results) are split so.

    Where they disagree, the first one wins.
    """
    split = {}
    used = set()
    for axes, shape, spec in zip(
        (*self.operands, *self.results), shapes, specs
    ):
      for size, d, names in zip(shape, axes, tuple(spec)):
        names = _names(names)
        shards = 1
        for name in names:
          shards *= mesh.shape[name]
        if d is None or d in split or not names or used.intersection(names):
          continue
        if size % shards != 0:
          continue  # The padding of an uneven shard would be summed over.
        split[d] = names
        used.update(names)
    return split


def spec(axes: Axes, split: Split) -> PartitionSpec:
  """Returns how an array is split."""
  return PartitionSpec(*(split.get(d) for d in axes))


def forward_layout(op: Declaration, shapes: Sequence[Shape]) -> Layout:
  """Returns the layout of a forward call."""
  loops = op.signature.loops(shapes)
  full = signatures.broadcast(loops)
  return Layout(
      [
          _axes(own, full, len(core))
          for own, core in zip(loops, op.signature.operands)
      ],
      [_axes(full, full, len(core)) for core in op.signature.results],
      len(full),
  )


def tangent_layout(
    op: Declaration, operands: Sequence[Any], active: Sequence[bool], attributes
) -> Layout:
  """Returns the layout of a tangent call."""
  count = len(op.signature.operands)
  forward = forward_layout(op, [x.shape for x in operands[:count]])
  residuals = op.split_results(forward.results)[1]
  tangents = [axes for axes, a in zip(forward.operands, active) if a]
  results = op.differentiable_results(
      forward.results, operands[:count], attributes
  )
  return Layout(
      [*forward.operands, *residuals, *tangents], results, forward.rank
  )


def backward_layout(call: BackwardCall, shapes: Sequence[Shape]) -> Layout:
  """Returns the layout of a backward call."""
  return Layout(
      [
          _axes(shape[: len(shape) - len(core)], call.leading, len(core))
          for shape, core in zip(shapes, call.core_shapes)
      ],
      [
          _axes(
              call.own_leading(index),
              call.leading,
              len(call.core_shapes[index]),
          )
          for index in call.results
      ],
      len(call.leading),
  )


def _axes(own, full, core_rank):
  leading = (d if size == full[d] else None for d, size in enumerate(own))
  return (*leading, *(None,) * core_rank)


def _names(entry):
  if entry is None:
    return ()
  return (entry,) if isinstance(entry, str) else tuple(entry)
