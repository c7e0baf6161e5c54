# SPDX-License-Identifier: Apache-2.0
"""Sums and the like, over axes and along them; argmax and argmin."""

import numpy as np

from jax_ffi_ops.kit.emit import cpp
from jax_ffi_ops.kit.emit import values
from jax_ffi_ops.kit.emit.rules import rule
from jax_ffi_ops.kit.emit.values import Scalars

_SUM = (lambda a, b: f"{a} + {b}"), lambda dtype: 0
_PRODUCT = (lambda a, b: f"{a} * {b}"), lambda dtype: 1
_MAX = (lambda a, b: f"Max({a}, {b})"), lambda dtype: _limit(dtype, "min")
_MIN = (lambda a, b: f"Min({a}, {b})"), lambda dtype: _limit(dtype, "max")
_REDUCTIONS = {
    "reduce_and": ((lambda a, b: f"{a} & {b}"), lambda dtype: -1),
    "reduce_max": _MAX,
    "reduce_min": _MIN,
    "reduce_or": ((lambda a, b: f"{a} | {b}"), lambda dtype: 0),
    "reduce_prod": _PRODUCT,
    "reduce_sum": _SUM,
    "reduce_xor": ((lambda a, b: f"{a} ^ {b}"), lambda dtype: 0),
}
_CUMULATIVE = {
    "cummax": _MAX,
    "cummin": _MIN,
    "cumprod": _PRODUCT,
    "cumsum": _SUM,
}


def _limit(dtype, which):
  if dtype == bool:
    return which == "max"
  if cpp.is_float(dtype):
    return -np.inf if which == "min" else np.inf
  return getattr(np.iinfo(dtype), which)


def _start(body, dtype, value, lanes):
  text = cpp.literal(value, dtype)
  return body.writer.splat(text, dtype) if lanes else text


def _operation(operations, equation, x):
  """Returns how elements are combined, and what changes none of them."""
  if x.dtype == bool:  # A mask is no number.
    for of_numbers, name in ((_MAX, "reduce_or"), (_MIN, "reduce_and")):
      if operations[equation.name] is of_numbers:
        return _REDUCTIONS[name]
  return operations[equation.name]


@rule(*_REDUCTIONS)
def _reduce(body, equation, x):
  combine, identity = _operation(_REDUCTIONS, equation, x)
  axes = equation.params["axes"]
  kept = [d for d in range(len(x.shape)) if d not in axes]
  start = _start(body, x.dtype, identity(x.dtype), x.lanes)
  if values.is_small(x.shape):
    return _reduce_scalars(body, equation, x, combine, kept, start)
  writer, x = body.writer, body.writer.readable(x)
  out = writer.buffer(equation.shape, x.dtype, x.lanes)
  last = len(x.shape) - 1
  if last in kept and x.shape[last] != 1:
    # Neighbors are added to neighbors: g++ makes vectors of them.
    with writer.loops(out.shape) as index:
      writer.line(f"{out.at(index)} = {start};")
    with writer.loops(x.shape) as index:
      to = out.at([index[d] for d in kept])
      writer.line(f"{to} = {combine(to, x.at(index))};")
    return out
  with writer.loops(out.shape) as outer:
    total = writer.name("v")
    writer.line(f"{writer.type_of(x.dtype, x.lanes)} {total} = {start};")
    with writer.loops([x.shape[d] for d in axes]) as inner:
      index = [""] * len(x.shape)
      for d, i in zip([*kept, *axes], [*outer, *inner]):
        index[d] = i
      writer.line(f"{total} = {combine(total, x.at(index))};")
    writer.line(f"{out.at(outer)} = {total};")
  return out


def _reduce_scalars(body, equation, x, combine, kept, start):
  """Adds pairs, then pairs of these: the sums do not wait for each other."""
  names = body.writer.names_of(x)
  order = [*kept, *equation.params["axes"]]
  names = names.transpose(order).reshape(*equation.shape, -1)
  found = np.empty(equation.shape, object)
  for index in np.ndindex(*equation.shape):
    parts = list(names[index]) or [start]
    while len(parts) > 1:
      pairs = [
          body.writer.let(combine(a, b), x.dtype, x.lanes)
          for a, b in zip(parts[::2], parts[1::2])
      ]
      parts = pairs + parts[2 * len(pairs) :]
    found[index] = parts[0]
  return Scalars.of(found, x.dtype, x.lanes)


@rule(*_CUMULATIVE)
def _cumulative(body, equation, x):
  combine, _ = _operation(_CUMULATIVE, equation, x)
  axis, reverse = equation.params["axis"], equation.params["reverse"]
  writer = body.writer
  if values.is_small(x.shape):
    names = np.moveaxis(writer.names_of(x).copy(), axis, 0)
    names = names[::-1] if reverse else names
    for t in range(1, len(names)):
      for index in np.ndindex(*names.shape[1:]):
        a, b = names[(t - 1, *index)], names[(t, *index)]
        names[(t, *index)] = writer.let(combine(a, b), x.dtype, x.lanes)
    names = names[::-1] if reverse else names
    return Scalars.of(np.moveaxis(names, 0, axis), x.dtype, x.lanes)
  x = writer.readable(x)
  out = writer.buffer(x.shape, x.dtype, x.lanes)
  n = cpp.dim(x.shape[axis])
  with writer.loops(x.shape) as index:
    step = index[axis]
    at = list(index)
    at[axis] = f"({n} - 1 - {step})" if reverse else step
    before = list(at)
    before[axis] = f"({at[axis]} {'+' if reverse else '-'} 1)"
    first, own = x.at(at), combine(out.at(before), x.at(at))
    writer.line(f"if ({step} == 0) {out.at(at)} = {first};")
    writer.line(f"else {out.at(at)} = {own};")
  return out


@rule("argmax", "argmin")
def _argmax(body, equation, x):
  (axis,) = equation.params["axes"]
  dtype = np.dtype(equation.params["index_dtype"])
  sign = ">" if equation.name == "argmax" else "<"
  writer, x = body.writer, body.writer.readable(x)
  out = writer.buffer(equation.shape, dtype, x.lanes)
  number = writer.type_of(np.int32, x.lanes)
  value, place = writer.name("v"), writer.name("v")
  with writer.loops(out.shape) as outer:

    def at(i):
      text = x.at([*outer[:axis], i, *outer[axis:]])
      return f"FromMask<{number}>({text})" if x.dtype == bool else text

    mask = writer.type_of(bool, x.lanes)
    writer.line(f"auto {value} = {at('0')};")
    writer.line(f"{writer.type_of(dtype, x.lanes)} {place}{{}};")
    with writer.loop(x.shape[axis]) as i:
      # The first of equal ones, and the first NaN before all numbers.
      better, new = writer.name("v"), writer.name("v")
      writer.line(f"const auto {new} = {at(i)};")
      writer.line(
          f"const {mask} {better} = As<{mask}>({new} {sign} {value}) |"
          f" (As<{mask}>({new} != {new}) & As<{mask}>({value} == {value}));"
      )
      writer.line(f"{value} = Select({better}, {new}, {value});")
      index = f"static_cast<{cpp.scalar(dtype)}>({i})"
      if x.lanes:
        index = writer.splat(index, dtype)
      writer.line(f"{place} = Select({better}, {index}, {place});")
    writer.line(f"{out.at(outer)} = {place};")
  return body.loaded(out)


@rule("dot_general")
def _dot(body, equation, a, b):
  (contract_a, contract_b), (batch_a, batch_b) = equation.params[
      "dimension_numbers"
  ]
  free_a = _others(a, contract_a, batch_a)
  free_b = _others(b, contract_b, batch_b)
  # [batch, free, contracted], for both.
  a = _ordered(body, a, [*batch_a, *free_a, *contract_a])
  b = _ordered(body, b, [*batch_b, *free_b, *contract_b])
  batch = len(batch_a)
  rows, cols, depth = len(free_a), len(free_b), len(contract_a)
  work = cpp.size(a.shape) * cpp.size(b.shape[batch : batch + cols])
  if isinstance(a, Scalars) and isinstance(b, Scalars) and work <= _UNROLLED:
    return _dot_scalars(body, equation, a, b, batch, rows, cols)
  return _dot_memory(body, equation, a, b, (batch, rows, cols, depth))


# The most multiplications that are written one by one.
_UNROLLED = 512


def _others(x, *used):
  used = {d for dims in used for d in dims}
  return [d for d in range(len(x.shape)) if d not in used]


def _ordered(body, x, order):
  if values.is_small(x.shape):
    names = body.writer.names_of(x).transpose(order)
    return Scalars.of(names, x.dtype, x.lanes)
  x = body.writer.in_memory(x)
  return x.view([x.shape[d] for d in order], [x.strides[d] for d in order])


def _dot_scalars(body, equation, a, b, batch, rows, cols):
  dtype, lanes = equation.dtype, a.lanes or b.lanes
  body.writer.type_of(dtype, lanes)
  loops, left = a.shape[:batch], a.shape[batch : batch + rows]
  right, depth = b.shape[batch : batch + cols], a.shape[batch + rows :]
  x = a.names.reshape(cpp.size(loops), cpp.size(left), cpp.size(depth))
  y = b.names.reshape(cpp.size(loops), cpp.size(right), cpp.size(depth))
  found = np.empty((x.shape[0], x.shape[1], y.shape[1]), object)
  for i, j, k in np.ndindex(*found.shape):
    terms = [f"{p} * {q}" for p, q in zip(x[i, j], y[i, k])]
    text = " + ".join(terms) or cpp.literal(0, dtype)
    if lanes and not terms:
      text = body.writer.splat(text, dtype)
    found[i, j, k] = body.writer.let(text, dtype, lanes)
  return Scalars.of(found.reshape(equation.shape), dtype, lanes)


def _dot_memory(body, equation, a, b, ranks):
  writer, dtype = body.writer, equation.dtype
  lanes = a.lanes or b.lanes
  batch, rows, cols, _ = ranks
  a, b = writer.in_memory(a), writer.in_memory(b)
  out = writer.buffer(equation.shape, dtype, lanes)
  zero = _start(body, dtype, 0, lanes)
  depth, right = a.shape[batch + rows :], b.shape[batch : batch + cols]
  # If the columns of b are neighbors, they are the innermost loop.
  along = not lanes and cols and b.strides[batch + cols - 1] == 1
  with writer.loops(a.shape[: batch + rows]) as outer:

    def term(i, k):
      return f"{a.at([*outer, *k])} * {b.at([*outer[:batch], *i, *k])}"

    if along:
      with writer.loops(right) as i:
        writer.line(f"{out.at([*outer, *i])} = {zero};")
      with writer.loops(depth) as k, writer.loops(right) as i:
        writer.line(f"{out.at([*outer, *i])} += {term(i, k)};")
    else:
      with writer.loops(right) as i:
        total = writer.name("v")
        writer.line(f"{writer.type_of(dtype, lanes)} {total} = {zero};")
        with writer.loops(depth) as k:
          writer.line(f"{total} += {term(i, k)};")
        writer.line(f"{out.at([*outer, *i])} = {total};")
  return out
