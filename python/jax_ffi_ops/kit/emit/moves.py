# SPDX-License-Identifier: Apache-2.0
"""Primitives that move elements and compute nothing.

Scalars and constants are moved here, by NumPy. An array in memory becomes a
view of the same buffer where strides can say it, and is copied where not.
"""

from typing import Any

import numpy as np

from jax_ffi_ops.kit.emit import cpp
from jax_ffi_ops.kit.emit import values
from jax_ffi_ops.kit.emit.rules import rule
from jax_ffi_ops.kit.emit.values import Constant
from jax_ffi_ops.kit.emit.values import Memory
from jax_ffi_ops.kit.emit.values import Scalars


def _move(name: str, by_numpy: Any, by_view: Any) -> None:
  """Registers a move of one operand.

  Args:
    name: of the primitive.
    by_numpy: function of an array and the equation.
    by_view: likewise, of Memory; None if no strides say it.
  """

  def move(body, equation, x):
    if isinstance(x, Constant) and values.is_small(x.shape):
      x = _scalars(body, x)
    if isinstance(x, Scalars):
      # NumPy makes an element of an array without axes.
      moved = np.asarray(by_numpy(x.names, equation), object)
      if values.is_small(moved.shape):
        return Scalars.of(moved, x.dtype, x.lanes)
    memory = body.writer.in_memory(x)
    view = by_view(memory, equation)
    if view is None:
      copy = body.writer.buffer(x.shape, x.dtype, x.lanes)
      body.writer.store(copy, memory)
      view = by_view(copy, equation)
    return view

  rule(name)(move)


def _scalars(body, x):
  return Scalars.of(body.writer.names_of(x), x.dtype, x.lanes)


def _reshaped(x: Memory, equation) -> Memory | None:
  sizes = equation.shape
  if x.is_contiguous:
    return x.view(sizes, cpp.strides(sizes))
  kept = [(n, s) for n, s in zip(x.shape, x.strides) if n != 1]
  if [n for n, _ in kept] != [n for n in sizes if n != 1]:
    return None
  strides = iter([s for _, s in kept])
  return x.view(sizes, [1 if n == 1 else next(strides) for n in sizes])


for _name in ("reshape", "squeeze", "expand_dims"):
  _move(_name, lambda x, e: x.reshape(e.shape), _reshaped)


def _transposed(x, equation):
  order = equation.params["permutation"]
  return x.view([x.shape[d] for d in order], [x.strides[d] for d in order])


_move(
    "transpose",
    lambda x, e: x.transpose(e.params["permutation"]),
    _transposed,
)


def _kept(equation):
  last = len(equation.shape) - equation.words
  words = range(last, len(equation.shape))
  return (*equation.params["broadcast_dimensions"], *words)


def _broadcast(x, equation):
  strides = [0] * len(equation.shape)
  for d, to in enumerate(_kept(equation)):
    strides[to] = 0 if x.shape[d] == 1 else x.strides[d]
  return x.view(equation.shape, strides)


def _broadcast_by_numpy(x, equation):
  ones = [1] * len(equation.shape)
  for d, to in enumerate(_kept(equation)):
    ones[to] = x.shape[d]
  return np.broadcast_to(x.reshape(ones), equation.shape)


@rule("broadcast_in_dim")
def _broadcast_in_dim(body, equation, x, *sizes):
  del sizes  # Of open dimensions; the shape has them.
  writer = body.writer
  if isinstance(x, (Constant, Scalars)) and values.is_small(equation.shape):
    names = _broadcast_by_numpy(writer.names_of(x), equation)
    return Scalars.of(names, x.dtype, x.lanes)
  if x.size == 1 and not isinstance(x, Memory):
    text = writer.names_of(x).item()
    return values.Lazy(
        equation.shape, x.dtype, x.lanes, lambda index: text, frozenset()
    )
  return _broadcast(writer.in_memory(x), equation)


def _slices(equation):
  params = equation.params
  starts, limits = params["start_indices"], params["limit_indices"]
  strides = params["strides"] or [1] * len(starts)
  words = equation.shape[len(starts) :]
  return (
      (*starts, *(0 for _ in words)),
      (*limits, *words),
      (*strides, *(1 for _ in words)),
  )


def _sliced(x, equation):
  starts, _, steps = _slices(equation)
  terms = [cpp.product(s, cpp.dim(b)) for s, b in zip(x.strides, starts)]
  strides = [s * step for s, step in zip(x.strides, steps)]
  return x.view(equation.shape, strides, cpp.add(*terms))


_move(
    "slice",
    # With "...", an array without axes stays one.
    lambda x, e: x[(..., *map(slice, *_slices(e)))],
    _sliced,
)


def _reversed(x, equation):
  dims = equation.params["dimensions"]
  terms = [cpp.product(x.strides[d], cpp.dim(x.shape[d] - 1)) for d in dims]
  strides = [-s if d in dims else s for d, s in enumerate(x.strides)]
  return x.view(x.shape, strides, cpp.add(*terms))


_move("rev", lambda x, e: np.flip(x, e.params["dimensions"]), _reversed)


@rule("concatenate")
def _concatenate(body, equation, *args):
  axis = equation.params["dimension"]
  return joined(body, equation, args, axis)


def joined(body, equation, args, axis) -> values.Value:
  """Returns arrays one behind the other."""
  lanes = any(x.lanes for x in args)
  if values.is_small(equation.shape):
    names = [_in_lanes(body, x, lanes) for x in args]
    return Scalars.of(np.concatenate(names, axis), equation.dtype, lanes)
  out = equation.destinations[0]
  if out is None:
    out = body.writer.buffer(equation.shape, equation.dtype, lanes)
  begin = 0
  for x in args:
    part = out.view(
        x.shape, out.strides, cpp.product(out.strides[axis], cpp.dim(begin))
    )
    body.writer.store(part, x)
    begin += x.shape[axis]
  return out


def _in_lanes(body, x, lanes):
  names = body.writer.names_of(x)
  if x.lanes == lanes:
    return names
  texts = [body.writer.splat(t, x.dtype) for t in names.ravel()]
  return values.objects(texts, names.shape)


@rule("stack")
def _stack(body, equation, *args):
  axis = equation.params["axis"]
  shape = [*args[0].shape[:axis], 1, *args[0].shape[axis:]]
  rows = []
  for x in args:
    if isinstance(x, values.Lazy) or not values.is_small(x.shape):
      x = body.writer.in_memory(x)
      strides = [*x.strides[:axis], 1, *x.strides[axis:]]
      rows.append(x.view(shape, strides))
    else:
      names = body.writer.names_of(x).reshape(shape)
      rows.append(Scalars.of(names, x.dtype, x.lanes))
  return joined(body, equation, rows, axis)


@rule("unstack")
def _unstack(body, equation, x):
  axis = equation.params["axis"]
  rest = [n for d, n in enumerate(x.shape) if d != axis]
  if values.is_small(x.shape):
    names = np.moveaxis(body.writer.names_of(x), axis, 0)
    # A list: an index gives no array if there is one axis.
    rows = [np.ravel(names[i : i + 1]) for i in range(len(names))]
    return [
        Scalars.of(values.objects(row, rest), x.dtype, x.lanes) for row in rows
    ]
  x = body.writer.in_memory(x)
  strides = [s for d, s in enumerate(x.strides) if d != axis]
  return [
      x.view(rest, strides, cpp.product(x.strides[axis], str(i)))
      for i in range(x.shape[axis])
  ]


@rule("pad")
def _pad(body, equation, x, filler):
  writer = body.writer
  lanes = x.lanes or filler.lanes
  config = equation.params["padding_config"]
  if values.is_small(equation.shape) and values.is_small(x.shape):
    names = np.empty(equation.shape, object)
    names[...] = _in_lanes(body, filler, lanes).item()
    own = _in_lanes(body, x, lanes)
    for index in np.ndindex(*x.shape):
      to = [low + i * (gap + 1) for i, (low, _, gap) in zip(index, config)]
      if all(0 <= t < n for t, n in zip(to, equation.shape)):
        names[tuple(to)] = own[index]
    return Scalars.of(names, equation.dtype, lanes)
  out = writer.buffer(equation.shape, equation.dtype, lanes)
  fill = values.objects([writer.names_of(filler).item()], ())
  whole = values.Lazy(
      out.shape, out.dtype, filler.lanes, lambda i: fill.item(), frozenset()
  )
  writer.store(out, whole)
  source = writer.readable(x)
  shape, starts, offset = [], [], []
  for n, stride, (low, high, gap) in zip(x.shape, out.strides, config):
    # The elements that stay: negative padding cuts some off.
    first = -(low // (gap + 1)) if low < 0 else 0
    cut = -(high // (gap + 1)) if high < 0 else 0
    starts.append(first)
    shape.append(max(n - first - cut, 0) if low < 0 or high < 0 else n)
    offset.append(cpp.product(stride, cpp.dim(low + first * (gap + 1))))
  steps = [s * (gap + 1) for s, (_, _, gap) in zip(out.strides, config)]
  part = out.view(shape, steps, cpp.add(*offset))

  def moved(index):
    own = [cpp.add(i, str(s)) for i, s in zip(index, starts)]
    return source.at(own)

  kept = values.Lazy(tuple(shape), x.dtype, x.lanes, moved, source.reads)
  writer.store(part, kept)
  return out


@rule("split")
def _split(body, equation, x):
  axis, begin, found = equation.params["axis"], 0, []
  if not isinstance(x, Scalars):
    x = body.writer.in_memory(x)
  for n in equation.params["sizes"]:
    if isinstance(x, Scalars):
      part = [slice(None)] * axis + [slice(begin, begin + n)]
      found.append(Scalars.of(x.names[tuple(part)], x.dtype, x.lanes))
    else:
      shape = [*x.shape[:axis], n, *x.shape[axis + 1 :]]
      offset = cpp.product(x.strides[axis], cpp.dim(begin))
      found.append(x.view(shape, x.strides, offset))
    begin += n
  return found


@rule("iota")
def _iota(body, equation, *sizes):
  del body, sizes
  d = equation.params["dimension"]
  ctype = cpp.scalar(equation.dtype)

  def element(index):
    return f"static_cast<{ctype}>({index[d]})"

  return values.Lazy(
      equation.shape, equation.dtype, False, element, frozenset()
  )
