# SPDX-License-Identifier: Apache-2.0
"""Which axes of a call's operands and results are the same loop dimension.

It says how a call may be split over devices: loop dimensions may be split, core
dimensions have to be whole, but for one that `split=` of the op tells how to
split, and what is summed over a loop dimension that is split takes one
all-reduce.
"""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

from jax.sharding import PartitionSpec

from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.dimensions import Shape
from jax_ffi_ops.kit.declare.signature import Core

# Per axis of an array: the number of the loop dimension, or None for one
# that is not split: a core dimension, or a broadcast one. The core dimension
# that may be split has the number after those of the loops.
Axes = tuple[int | None, ...]

# The mesh axes over which a loop dimension is split.
Placement = Mapping[int, tuple[str, ...]]


@dataclasses.dataclass(frozen=True)
class LoopAxes:
  """The axes of a call's operands and results."""

  operands: list[Axes]
  results: list[Axes]
  rank: int  # number of loop dimensions

  @classmethod
  def of(
      cls,
      dims: Dimensions,
      results: Sequence[Parts],
      cores: Sequence[Core],
      dimension: str | None = None,
  ) -> "LoopAxes":
    """Returns the axes of a call.

    Args:
      dims: of its arrays.
      results: the shapes of its results.
      cores: the names of the core dimensions of arrays, then of results.
      dimension: the name of the one that may be split.
    """
    shapes = (*dims.arrays, *results)
    axes = [
        _axes(
            dims, parts, [dims.rank if n == dimension else None for n in core]
        )
        for parts, core in zip(shapes, cores, strict=True)
    ]
    count = len(dims.arrays)
    return cls(axes[:count], axes[count:], dims.rank)

  @property
  def core(self) -> int:
    """The number of the core dimension that may be split, if there is one."""
    return self.rank

  @property
  def with_whole_cores(self) -> "LoopAxes":
    """The same, but that no core dimension may be split."""

    def whole(arrays):
      return [
          tuple(None if d == self.core else d for d in axes) for axes in arrays
      ]

    return LoopAxes(whole(self.operands), whole(self.results), self.rank)

  def summed(self, result: int) -> list[int]:
    """Returns the loop dimensions that a result is a sum over."""
    return [d for d in range(self.rank) if d not in self.results[result]]

  @property
  def batch_rank(self) -> int:
    """The number of loop dimensions that all arrays begin with, in full."""
    rank = 0
    arrays = (*self.operands, *self.results)
    while all(axes[rank : rank + 1] == (rank,) for axes in arrays):
      rank += 1
    return rank

  def split(
      self, mesh: Any, shapes: Sequence[Shape], specs: Sequence[PartitionSpec]
  ) -> Placement:
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
        if d == self.core and (size == 0 or shards == 1):
          continue  # There are no pieces.
        split[d] = names
        used.update(names)
    return split


def spec(axes: Axes, split: Placement) -> PartitionSpec:
  """Returns how an array is split."""
  return PartitionSpec(*(split.get(d) for d in axes))


def _axes(dims, parts, core):
  first = len(dims.leading)
  leading = (
      d if size == dims.leading[d] else None
      for d, size in enumerate(parts.leading)
  )
  trailing = (
      first + d if size == dims.trailing[d] else None
      for d, size in enumerate(parts.trailing)
  )
  return (*leading, *core, *trailing)


def _names(entry):
  if entry is None:
    return ()
  return (entry,) if isinstance(entry, str) else tuple(entry)
