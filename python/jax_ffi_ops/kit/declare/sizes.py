# SPDX-License-Identifier: Apache-2.0
"""The sizes of core dimensions: "h", a multiple such as "2h", a number."""

from collections.abc import Iterable, Mapping, Sequence
import functools
import re

_DIMENSION = re.compile(r"([0-9]*)(.*)", re.DOTALL)


@functools.cache
def split(dim: str) -> tuple[int, str]:
  """Returns factor and name: of "h" 1 and "h", of "2h" 2 and "h".

  A number has no name.
  """
  number, name = _DIMENSION.fullmatch(dim).groups()
  return int(number or 1), name


def is_dimension(dim: str) -> bool:
  """Returns whether this may stand in a signature."""
  number, name = _DIMENSION.fullmatch(dim).groups()
  if not name:
    return bool(number)
  return name.isidentifier() and not (number and int(number) == 0)


def names(cores: Iterable[Sequence[str]]) -> tuple[str, ...]:
  """Returns the names in core dimensions, each once."""
  found = (split(dim)[1] for core in cores for dim in core)
  return tuple(name for name in dict.fromkeys(found) if name)


def size(dim: str, sizes: Mapping[str, int]) -> int:
  """Returns the size of a dimension, given what the names stand for."""
  factor, name = split(dim)
  return factor * sizes[name] if name else factor


def solve(core: Sequence[str], shape: Sequence[int]) -> dict[str, int]:
  """Returns what the names of core dimensions stand for in a shape.

  It takes the shape to be right.
  """
  found = {}
  # A name alone is the last word: symbolic sizes divide less well.
  for dim, own in sorted(zip(core, shape), key=lambda x: -split(x[0])[0]):
    factor, name = split(dim)
    if name:
      found[name] = own // factor if factor > 1 else own
  return found
