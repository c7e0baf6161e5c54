# SPDX-License-Identifier: Apache-2.0
"""Which operands and results are copied between rows and lanes as a whole.

Rows are apart: an element of all lanes is loaded and stored one by one. With
4096 bytes between rows, or a multiple of them, a vector that is stored to them
evicts from the cache what the last one brought. A copy turns squares of
elements, and has all lanes of an element as a vector. Else, a step of a loop
computes while it stores, and a copy would come after it.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend import core as jex_core

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import values

# The most elements of a row. Larger copies would leave the cache.
_MOST_READ = 1 << 12
_MOST_WRITTEN = 1 << 14
# They still pay where rows are a multiple of so many bytes: half of those above,
# for caches of fewer ways.
_MOST_WRITTEN_APART = 1 << 18
_APART = 2048

# Loops read an element when a step needs it, and others a part of all.
_LOOPS = ("scan", "while")
_READ_LESS = (*_LOOPS, "cond", "dynamic_slice", "gather", "slice")
_VIEWS = ("reshape", "rev", "split", "squeeze", "transpose", "unstack")


def read(jaxpr: jex_core.Jaxpr) -> list[bool]:
  """Returns of which operands all is read outside of loops; it has no calls."""
  found = set()
  for equation in reversed(jaxpr.eqns):
    name = equation.primitive.name
    if name in _VIEWS and found.isdisjoint(equation.outvars):
      continue
    if name not in _READ_LESS:
      found.update(jaxprs.variables(equation.invars))
  return [x in found for x in jaxpr.invars]


def written(jaxpr: jex_core.Jaxpr) -> list[bool]:
  """Returns which results no step of a loop writes; it has no calls."""
  of_loops = [x for x in jaxpr.eqns if x.primitive.name in _LOOPS]
  found = set().union(*(x.outvars for x in of_loops))
  is_literal = lambda x: isinstance(x, jex_core.Literal)
  return [is_literal(x) or x not in found for x in jaxpr.outvars]


def is_worth_reading(shape: Sequence[Any]) -> bool:
  """Returns whether to copy an operand of which each element is read."""
  return not values.is_small(shape) and values.is_small(shape, _MOST_READ)


def is_worth_writing(
    shape: Sequence[Any], element_bytes: int, is_outside: bool
) -> bool:
  """Returns whether to copy a result: see `written`."""
  size = cpp.size(shape)
  if not isinstance(size, int):
    return True
  if size * element_bytes % _APART == 0:
    most = _MOST_WRITTEN_APART
  else:
    most = _MOST_WRITTEN if is_outside else 0
  return not values.is_small(shape) and size <= most
