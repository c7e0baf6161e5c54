# SPDX-License-Identifier: Apache-2.0
"""Primitives that move elements and compute nothing.

A move is a view of the same buffer where strides can say it, and a copy where
not. Scalars and constants have no buffer: the places of such a view say which
of them goes where.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.families import dynamic
from jax_ffi_ops.loops.rules import rule

# Of a view that only says where elements go.
_NOWHERE = values.Buffer("", values.Kind.OWN)

View = Callable[[values.Memory], values.Memory | None]


def moved(body: Any, x: values.Value, view: View) -> values.Value:
  """Returns a view of an array. The function gives None if strides cannot."""
  is_constant = isinstance(x, values.Constant) and values.is_small(x.shape)
  if is_constant or isinstance(x, values.Scalars):
    found = view(values.Memory.of(_NOWHERE, x.shape, x.dtype, x.lanes))
    if values.is_small(found.shape):
      return body.writer.picked(x, found.places())
  memory = body.writer.in_memory(x)
  return view(memory) or view(body.writer.copied(memory, x.lanes))


@rule("reshape", "squeeze")
def _reshape(body, equation, x):
  sizes = equation.shape
  if equation.name == "reshape" and (dims := equation.params["dimensions"]):
    x = moved(body, x, lambda x: x.ordered(dims))

  def view(x):
    if x.is_contiguous:
      return x.view(sizes, cpp.strides(sizes))
    kept = [(n, s) for n, s in zip(x.shape, x.strides) if n != 1]
    if [n for n, _ in kept] != [n for n in sizes if n != 1]:
      return None
    strides = iter([s for _, s in kept])
    return x.view(sizes, [1 if n == 1 else next(strides) for n in sizes])

  return moved(body, x, view)


@rule("transpose")
def _transpose(body, equation, x):
  dims = equation.params["permutation"]
  if isinstance(x, values.Lazy) and equation.uses == (1,):
    back = np.argsort(dims)
    element = lambda index: x.at([index[d] for d in back])
    return values.Lazy(
        equation.shape, x.dtype, x.lanes, element, (x,), is_zero=x.is_zero
    )
  return moved(body, x, lambda x: x.ordered(dims))


@rule("broadcast_in_dim")
def _broadcast_in_dim(body, equation, x, *sizes):
  del sizes  # Of open dimensions; the shape has them.
  dims = equation.params["broadcast_dimensions"]
  return _stretched(body, x, equation.shape, dims)


def _stretched(body, x, shape, dims=()):
  """Returns copies of an array, whose dimensions are some of a shape."""
  is_memory = isinstance(x, values.Memory)
  if x.size == 1 and not is_memory and not values.is_small(shape):
    text, is_zero = body.writer.names_of(x).item(), values.is_zero(x)
    return values.Lazy(
        shape, x.dtype, x.lanes, lambda index: text, is_zero=is_zero
    )

  def view(x):
    strides = [0] * len(shape)
    for d, to in enumerate(dims):
      strides[to] = 0 if x.shape[d] == 1 else x.strides[d]
    return x.view(shape, strides)

  return moved(body, x, view)


@rule("slice")
def _slice(body, equation, x):
  starts = equation.params["start_indices"]
  steps = equation.params["strides"] or [1] * len(starts)
  return moved(body, x, lambda x: x.part(equation.shape, starts, steps))


@rule("rev")
def _rev(body, equation, x):
  dims = equation.params["dimensions"]
  starts = [n - 1 if d in dims else 0 for d, n in enumerate(x.shape)]
  steps = [-1 if d in dims else 1 for d in range(len(x.shape))]
  return moved(body, x, lambda x: x.part(x.shape, starts, steps))


def _assembled(body, equation, *parts) -> values.Value:
  """Returns an array of parts: each a value, and its starts and steps there."""
  shape, dtype, writer = equation.shape, equation.dtype, body.writer
  lanes = any(x.lanes for x, *_ in parts)
  if all(values.is_small(n) for n in (shape, *(x.shape for x, *_ in parts))):
    names = np.empty(cpp.size(shape), object)
    whole = values.Memory.of(_NOWHERE, shape, dtype, lanes)
    for x, *where in parts:
      places = whole.part(x.shape, *where).places()
      names[places] = writer.names_in_lanes(x, lanes)
    return values.Scalars.of(names.reshape(shape), dtype, lanes)
  whole = equation.destinations[0] or writer.buffer(shape, dtype, lanes)
  for x, *where in parts:
    writer.store(whole.part(x.shape, *where), x)
  return whole


@rule("concatenate")
def _concatenate(body, equation, *args):
  axis, begin, parts = equation.params["dimension"], 0, []
  for x in args:
    starts = [0] * len(x.shape)
    starts[axis] = begin
    parts.append((x, starts))
    begin += x.shape[axis]
  return _assembled(body, equation, *parts)


@rule("pad")
def _pad(body, equation, x, filler):
  shape, starts, places, steps = [], [], [], []
  for n, (low, high, gap) in zip(x.shape, equation.params["padding_config"]):
    # The elements that stay: negative padding cuts some off.
    first = -(low // (gap + 1)) if low < 0 else 0
    cut = -(high // (gap + 1)) if high < 0 else 0
    starts.append(first)
    shape.append(max(n - first - cut, 0) if low < 0 or high < 0 else n)
    places.append(low + first * (gap + 1))
    steps.append(gap + 1)
  if tuple(shape) != x.shape:
    x = moved(body, x, lambda x: x.part(shape, starts))
  is_patch = values.is_zero(filler) and not values.is_small(equation.shape)
  if is_patch and equation.destinations[0] is None:
    return _patch(body, equation, x, places, steps)
  filler = _stretched(body, filler, equation.shape)
  around, inside = (filler, [0] * len(shape)), (x, places, steps)
  return _assembled(body, equation, around, inside)


def _patch(body, equation, x, starts, steps):
  """Returns zeros around and between the elements of an array."""
  x = body.settled(x)

  def write(out, adds):
    own = dynamic.apart(body, x, out)
    window = dynamic.Window(out.part(x.shape, starts, steps), None)
    name = "scatter-add" if adds else "scatter"
    dynamic.combine(body, window, own, name)

  return values.Patch(equation.shape, x.dtype, x.lanes, write, (x,))


@rule("iota")
def _iota(body, equation, *sizes):
  del body, sizes
  d, ctype = equation.params["dimension"], cpp.scalar(equation.dtype)
  element = lambda index: cpp.code("static_cast<{}>({})", ctype, index[d])
  return values.Lazy(equation.shape, equation.dtype, False, element)
