# SPDX-License-Identifier: Apache-2.0
"""Which sizes of a function's arrays are compiled in, and which are open.

The first sizes are fixed. When one of them changes, a kernel for any size of it
is compiled, if that is possible; else each size has its own. Small sizes stay
fixed: in most loops, these are of states, whose elements are registers. The
symbolic sizes of jax.export are open from the first call on.
"""

from collections.abc import Sequence
from typing import Any

from jax import export

from jax_ffi_ops.kit.load.cores import is_positive

# Two sizes up to this one are not worth a kernel for all.
_SMALL = 16

Shape = tuple[int, ...]
# An open size is a name. Sizes of one name are equal in each call.
Pattern = tuple[tuple[int | str, ...], ...]


def opened(before: Sequence[Shape], now: Sequence[Shape]) -> Pattern | None:
  """Returns a pattern of two calls; None if small sizes or ranks differ."""
  names: dict[tuple[int, int], str] = {}

  def size(a, b):
    if isinstance(b, int) and a == b:
      return b
    return names.setdefault((a, b), f"n{len(names)}")

  if [*map(len, before)] != [*map(len, now)]:
    return None
  pattern = tuple(tuple(map(size, a, b)) for a, b in zip(before, now))
  if any(map(_are_fixed, names)):
    return None
  return pattern


def _are_fixed(pair: Sequence[Any]) -> bool:
  """Returns whether one kernel does not serve both sizes."""
  if not all(map(is_positive, pair)):
    return True
  return not are_symbolic([pair]) and max(pair) <= _SMALL


def are_symbolic(shapes: Sequence[Sequence[Any]]) -> bool:
  return not all(isinstance(n, int) for shape in shapes for n in shape)


def fits(pattern: Pattern, shapes: Sequence[Shape]) -> bool:
  """Returns whether a call has the sizes of a pattern."""
  known: dict[str, int] = {}
  pairs = [
      (own, n) for x, shape in zip(pattern, shapes) for own, n in zip(x, shape)
  ]
  return [*map(len, pattern)] == [*map(len, shapes)] and all(
      n == own
      if isinstance(own, int)
      else is_positive(n) and known.setdefault(own, n) == n
      for own, n in pairs
  )


def symbolic(pattern: Pattern) -> list[Any]:
  """Returns shapes whose open sizes are those of jax.export."""
  scope = export.SymbolicScope()
  return [
      export.symbolic_shape(",".join(map(str, shape)), scope=scope)
      for shape in pattern
  ]
