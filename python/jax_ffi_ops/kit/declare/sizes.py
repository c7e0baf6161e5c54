# SPDX-License-Identifier: Apache-2.0
"""The sizes of core dimensions: "h", "2h" or "h+1" in terms of it, a number."""

from collections.abc import Iterable, Mapping, Sequence
import functools
import re
from typing import NamedTuple

_DIMENSION = re.compile(r"([0-9]*)([^+]*)(?:\+([0-9]+))?", re.DOTALL)


class Dimension(NamedTuple):
  """factor * name, name + more, or a number: a factor without a name."""

  factor: int
  name: str
  more: int

  def has(self, size: int) -> bool:
    """Returns whether this may be the size, for some value of the name."""
    if not self.name:
      return size == self.factor
    # Symbolic sizes compare and divide less well.
    if self.more:
      return size >= self.more
    return self.factor == 1 or size % self.factor == 0

  def value(self, size: int) -> int:
    """Returns what the name stands for, if this is the size."""
    if self.more:
      return size - self.more
    return size // self.factor if self.factor > 1 else size


@functools.cache
def parse(dim: str) -> Dimension:
  """Returns the parts of "h", "2h", "h+1" or "3"."""
  number, name, more = _DIMENSION.fullmatch(dim).groups()
  return Dimension(int(number or 1), name, int(more or 0))


def is_dimension(dim: str) -> bool:
  """Returns whether this may stand in a signature."""
  match = _DIMENSION.fullmatch(dim)
  if match is None:
    return False
  number, name, more = match.groups()
  if not name:
    return bool(number) and more is None
  if number and (int(number) == 0 or more):
    return False
  return name.isidentifier()


def names(cores: Iterable[Sequence[str]]) -> tuple[str, ...]:
  """Returns the names in core dimensions, each once."""
  found = (parse(dim).name for core in cores for dim in core)
  return tuple(name for name in dict.fromkeys(found) if name)


def size(dim: str, sizes: Mapping[str, int]) -> int:
  """Returns the size of a dimension, given what the names stand for."""
  factor, name, more = parse(dim)
  return factor * sizes[name] + more if name else factor


def solve(core: Sequence[str], shape: Sequence[int]) -> dict[str, int]:
  """Returns what the names of core dimensions stand for in a shape.

  It takes the shape to be right.
  """
  # Names alone come last and win: symbolic sizes do not divide well.
  pairs = [(parse(dim), own) for dim, own in zip(core, shape)]
  pairs.sort(key=lambda x: (x[0].factor, x[0].more), reverse=True)
  return {dim.name: dim.value(own) for dim, own in pairs if dim.name}
