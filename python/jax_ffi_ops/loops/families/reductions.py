# SPDX-License-Identifier: Apache-2.0
"""Sums and the like over axes, and products of matrices."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.families import moves
from jax_ffi_ops.loops.rules import rule

# How elements are combined, and what changes none of them.
_REDUCTIONS = {
    "reduce_and": ("{} & {}", lambda dtype: -1),
    "reduce_max": ("Max({}, {})", lambda dtype: cpp.limits(dtype)[0]),
    "reduce_min": ("Min({}, {})", lambda dtype: cpp.limits(dtype)[1]),
    "reduce_or": ("{} | {}", lambda dtype: 0),
    "reduce_prod": ("{} * {}", lambda dtype: 1),
    "reduce_sum": ("{} + {}", lambda dtype: 0),
    "reduce_xor": ("{} ^ {}", lambda dtype: 0),
}
# A mask is no number.
_OF_BOOLS = {"reduce_max": "reduce_or", "reduce_min": "reduce_and"}


@rule(*_REDUCTIONS)
def _reduce(body, equation, x):
  name = equation.name
  name = _OF_BOOLS.get(name, name) if x.dtype == bool else name
  combine, identity = _REDUCTIONS[name]
  combine = functools.partial(cpp.code, combine)
  if name == "reduce_sum" and cpp.is_float(x.dtype):
    combine = body.writer.sum
  axes = equation.params["axes"]
  start = body.writer.literal(identity(x.dtype), x.dtype, x.lanes)
  if values.is_small(x.shape):
    kept = [d for d in range(len(x.shape)) if d not in axes]
    names = body.writer.names_of(x).transpose([*kept, *axes])
    reduced = cpp.size([x.shape[d] for d in axes])
    names = names.reshape(*equation.shape, reduced)
    found = np.empty(equation.shape, object)
    for index in np.ndindex(*equation.shape):
      found[index] = _of_pairs(body, x, combine, names[index]) or start
    return values.Scalars.of(found, x.dtype, x.lanes)
  return _over_axes(body, body.writer.readable(x), axes, combine, start)


def _over_axes(body, x, axes, combine, start):
  """Reduces an array that has indices in loops."""
  writer = body.writer
  kept = [d for d in range(len(x.shape)) if d not in axes]
  out = writer.buffer([x.shape[d] for d in kept], x.dtype, x.lanes)
  last = len(x.shape) - 1
  if axes and last in kept and x.shape[last] != 1 and not x.lanes:
    # Neighbors are added to neighbors: g++ makes vectors of them. Of lanes, it
    # would only write and read the sums again and again.
    with writer.loops(out.shape) as index:
      writer.assign(out.at(index), start)
    with writer.loops(x.shape) as index:
      to = out.at([index[d] for d in kept])
      writer.assign(to, combine(to, x.at(index)))
    return out
  with writer.loops(out.shape) as outer:
    total = writer.variable(start, x.dtype, x.lanes)
    with writer.loops([x.shape[d] for d in axes]) as inner:
      index = dict(zip([*kept, *axes], [*outer, *inner]))
      own = x.at([index[d] for d in sorted(index)])
      writer.assign(total, combine(total, own))
    writer.assign(out.at(outer), total)
  return out


def _of_pairs(body, x, combine, parts):
  """Adds pairs, then pairs of these: the sums do not wait for each other."""
  parts = list(parts)
  while len(parts) > 1:
    pairs = [
        body.writer.let(combine(a, b), x.dtype, x.lanes)
        for a, b in zip(parts[::2], parts[1::2])
    ]
    parts = pairs + parts[2 * len(pairs) :]
  return parts[0] if parts else None


# The most multiplications that are written one by one.
_UNROLLED = 512


@rule("dot_general")
def _dot(body, equation, a, b):
  contracted, batched = equation.params["dimension_numbers"]

  def ordered(x, contracted, batched):  # [batch, free, contracted]
    free = [d for d in range(len(x.shape)) if d not in {*contracted, *batched}]
    own = lambda x: x.ordered([*batched, *free, *contracted])
    return moves.moved(body, body.loaded(x), own), len(free)

  (a, rows), (b, cols) = map(ordered, (a, b), contracted, batched)
  batch = len(batched[0])
  loops, left = a.shape[:batch], a.shape[batch : batch + rows]
  right, depth = b.shape[batch : batch + cols], a.shape[batch + rows :]
  # A large outer product is written where it is used.
  is_lazy = not depth and not values.is_small(equation.shape)
  types = {x.aval.dtype for x in (*equation.of.invars, *equation.of.outvars)}
  is_of_one_type = len(set(map(cpp.scalar, types))) == 1
  is_scalars = {type(a), type(b)} == {values.Scalars} and is_of_one_type
  if is_scalars and not is_lazy:
    if cpp.size(a.shape) * cpp.size(right) <= _UNROLLED:
      x = a.names.reshape(*map(cpp.size, (loops, left, depth)))
      y = b.names.reshape(*map(cpp.size, (loops, right, depth)))
      dot = _dot_neighbors if _has_neighbors(equation, x, y) else _dot_scalars
      return dot(body, equation, x, y, a.lanes or b.lanes)
  sizes = [*map(cpp.size, (left, depth, right))]
  if is_of_one_type and _has_tiles(equation, *sizes):
    return _in_tiles(body, equation, a, b, (batch, rows, cols))
  # Neighbors are added to neighbors, if the columns of b are such.
  is_row = (
      isinstance(b, values.Memory) and cols and b.strides[batch + cols - 1] == 1
  )
  by_rows = is_row and not (a.lanes or b.lanes)
  own = functools.partial(
      _product, (batch, rows, cols), by_rows, equation.dtype
  )
  return body.retrace(own, a, b)


def _has_neighbors(equation, x, y):
  """Returns whether four elements can be a vector where there is one lane."""
  floats = all(cpp.is_float(v.aval.dtype) for v in equation.of.invars)
  sizes = x.shape[1], y.shape[1]
  return floats and x.shape[2] > 1 and min(sizes) > 0 and max(sizes) >= 4


def _dot_neighbors(body, equation, x, y, lanes):
  dtype, writer = equation.dtype, body.writer
  if is_tall := x.shape[1] > y.shape[1]:
    x, y = y, x
  (batch, rows, depth), cols = x.shape, y.shape[1]
  found = np.empty((batch, rows, cols), object)
  for i in range(batch):
    name = writer.name("m")
    writer.line("{} {}[{}];", cpp.type_of(dtype, lanes), name, rows * cols)
    a, b = (cpp.listed(names.ravel()) for names in (x[i], y[i].T))
    sizes = f"{rows}, {depth}, {cols}"
    writer.line("Dot<{}>({}, {}, {});", sizes, name, a, b, counts=rows * cols)
    for j, k in np.ndindex(rows, cols):
      found[i, j, k] = cpp.code("{}[{}]", name, cols * j + k)
  found = found.swapaxes(1, 2) if is_tall else found
  return values.Scalars.of(found.reshape(equation.shape), dtype, lanes)


def _dot_scalars(body, equation, x, y, lanes):
  dtype, writer = equation.dtype, body.writer
  found = np.empty((x.shape[0], x.shape[1], y.shape[1]), object)
  # Products that are not named are added up as they are: integers wrap.
  product = functools.partial(cpp.code, "{} * {}")
  product = cpp.multiplied if cpp.is_float(dtype) else product
  for i, j, k in np.ndindex(*found.shape):
    terms = list(map(product, x[i, j], y[i, k]))
    text = terms[0] if terms else writer.literal(0, dtype, lanes)
    for term in terms[1:]:
      text = writer.sum(text, writer.named(term, term))
    found[i, j, k] = writer.let(text, dtype, lanes)
  return values.Scalars.of(found.reshape(equation.shape), dtype, lanes)


# The fewest rows, columns and terms of a product that is computed in tiles.
_TILE = 4


def _has_tiles(equation, *sizes):
  """Returns whether a product of matrices is one for dot.h's `Product`."""
  are_enough = all(isinstance(n, int) and n >= _TILE for n in sizes)
  return are_enough and cpp.is_float(equation.dtype)


def _in_tiles(body, equation, a, b, ranks):
  """Multiplies [batch, rows, depth] and [batch, cols, depth]."""
  batch, rows, cols = ranks
  writer, lanes = body.writer, a.lanes or b.lanes
  columns = range(batch, batch + cols)
  dims = [d for d in range(len(b.shape)) if d not in columns]
  b = moves.moved(body, b, lambda x: x.ordered([*dims, *columns]))
  a, b = (_contiguous(body, x) for x in (a, b))
  out = writer.buffer(equation.shape, equation.dtype, lanes)
  sizes = [
      cpp.size(shape)
      for shape in (
          a.shape[batch : batch + rows],
          a.shape[batch + rows :],
          b.shape[len(dims) :],
      )
  ]
  with writer.loops(a.shape[:batch]) as index, writer.repeated(sizes):
    places = [
        cpp.code("{} + {}", x.buffer.name, x.place(index)) for x in (out, a, b)
    ]
    template = ", ".join(map(str, sizes))
    writer.line("Product<%s>({}, {}, {});" % template, *places)
  return body.loaded(out)


def _contiguous(body, x):
  """Returns an array as a plain array of C++."""
  x = body.writer.in_memory(x)
  is_plain = x.buffer.kind in (*values.POINTERS, values.Kind.TABLE)
  return x if is_plain and x.is_contiguous else body.writer.copied(x, x.lanes)


def _product(ranks, by_rows, dtype, a, b):
  """Adds up products of [batch, rows, depth] and [batch, cols, depth]."""
  batch, rows, cols = ranks
  depth = a.ndim - batch - rows
  a = jnp.expand_dims(a, range(batch + rows, batch + rows + cols))
  b = jnp.expand_dims(b, range(batch, batch + rows))
  axes = range(a.ndim - depth, a.ndim)
  if by_rows:
    last, axes = axes, range(batch + rows, batch + rows + depth)
    a, b = (jnp.moveaxis(x, last, axes) for x in (a, b))
  product = a.astype(dtype) * b.astype(dtype)
  reduce = jax.lax.reduce_or if dtype == bool else jax.lax.reduce_sum
  return reduce(product, axes) if depth else product
