# SPDX-License-Identifier: Apache-2.0
"""Where jax is faster than what would be compiled: a rule, and measurements.

docs/measurements.md has what the rule was made from: loops of one kind of step,
of several sizes, on jax 0.10.2 and 0.12.0.1.
"""

from collections.abc import Iterator
import math
from typing import Any

from jax.extend import core as jex_core

from jax_ffi_ops.kit.equations import equations

NEVER = math.inf
LeastRows = tuple[float, float]

# A product of a matrix and a vector: XLA compiles it into the loop. From so
# many multiplications on, the passes pay from so many rows on.
_VECTOR_PRODUCTS = {256: (8, 8), 1024: (64, NEVER), 4096: (NEVER, NEVER)}
# Those of long, narrow matrices are no faster there.
_NARROW = 16
# One of two matrices is a call of a library there, which costs a microsecond.
_MATRIX_PRODUCTS = {1 << 15: (NEVER, NEVER)}
# Outside of loops, where it is computed once: of a matrix and a vector, or of
# two matrices.
_LARGE_PRODUCTS = (1 << 14, 1 << 17)
# Elementwise operations on large arrays: XLA uses several threads for one row.
_ELEMENTS = {4096: (NEVER, 1)}
# XLA's Threefry takes several times as long as a vector of it, and makes up for
# that with threads from here on.
_DRAWN_ELEMENTS = {32768: (NEVER, 1)}
_DRAWS = ("random_bits", "threefry2x32")


def least_rows(jaxpr: jex_core.Jaxpr) -> LeastRows:
  """Returns from how many rows on the passes are faster, by the rule."""
  found = [(1, 1), *(x for loop in _loops(jaxpr) for x in _limits(loop))]
  forward, backward = map(max, zip(*found))
  return forward, backward


def has_large_work_outside(jaxpr: jex_core.Jaxpr) -> bool:
  """Returns whether XLA is faster with what is outside of the loops."""
  inside = {id(x) for loop in _loops(jaxpr) for x in equations(loop)}
  others = [x for x in equations(jaxpr) if id(x) not in inside]
  products = [_product(x) for x in others if x.primitive.name == "dot_general"]
  return any(n >= _LARGE_PRODUCTS[matrices] for matrices, n in products)


def _loops(jaxpr) -> Iterator[Any]:
  """Yields the jaxprs of the outermost loops."""
  for equation in equations(jaxpr):
    params = equation.params
    if equation.primitive.name == "scan":
      yield params["jaxpr"].jaxpr
    elif equation.primitive.name == "while":
      yield params["body_jaxpr"].jaxpr


def _limits(jaxpr):
  return _limits_of(list(equations(jaxpr)))


def _limits_of(found) -> Iterator[LeastRows]:
  draws = any(equation.primitive.name in _DRAWS for equation in found)
  elements = _DRAWN_ELEMENTS if draws else _ELEMENTS
  for equation in found:
    name = equation.primitive.name
    if name == "dot_general":
      matrices, multiplications = _product(equation)
      table = _MATRIX_PRODUCTS if matrices else _VECTOR_PRODUCTS
      yield from _above(table, multiplications)
    elif name in ("scan", "while", "cond", "jit"):
      continue  # It has equations of its own.
    elif name not in ("dynamic_update_slice", "scatter", "scatter-add"):
      sizes = (_size(x.aval.shape) for x in equation.outvars)
      yield from _above(elements, max(sizes, default=0))


def _above(table, n) -> Iterator[LeastRows]:
  return (limit for least, limit in table.items() if n >= least)


def _size(shape):
  """Returns the number of elements; 0 if it is open."""
  return math.prod(shape) if all(isinstance(n, int) for n in shape) else 0


def _product(equation) -> tuple[bool, int]:
  """Returns whether it is of two matrices, and its multiplications.

  Those of a vector and a narrow matrix do not count.
  """
  (contracted, _), (batch, _) = equation.params["dimension_numbers"]
  left, right = (x.aval.shape for x in equation.invars)
  depth = _size([left[d] for d in contracted])
  batches = _size([left[d] for d in batch])
  rows, columns = (
      _size(shape) // max(1, depth * batches) for shape in (left, right)
  )
  if min(rows, columns) == 1 and min(max(rows, columns), depth) < _NARROW:
    return False, 0
  return min(rows, columns) > 1, rows * columns * depth * batches
