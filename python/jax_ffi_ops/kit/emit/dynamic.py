# SPDX-License-Identifier: Apache-2.0
"""Slices, gathers and scatters at indices that are known when they run."""

from collections.abc import Sequence
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.emit import cpp
from jax_ffi_ops.kit.emit import errors
from jax_ffi_ops.kit.emit import values
from jax_ffi_ops.kit.emit.rules import rule
from jax_ffi_ops.kit.emit.values import Memory


@dataclasses.dataclass(frozen=True)
class _Window:
  """A part of an array in memory that begins at indices.

  Attributes:
    memory: the part, at the indices that all lanes share.
    lanes: by how many elements each lane's part is further on; None if it is
      nowhere.
  """

  memory: Memory
  lanes: str | None

  def read(self, body, index: Sequence[str]) -> str:
    if self.lanes is None:
      return self.memory.at(index)
    to = body.writer.type_of(self.memory.dtype, True)
    place = self.memory.place(index)
    return f"At<{to}>({self.memory.buffer}, {place}, {self.lanes})"

  def write(self, body, index: Sequence[str], text: str) -> None:
    if body.mask and self.memory.lanes:
      text = f"Select({body.mask}, {text}, {self.read(body, index)})"
    if self.lanes is None:
      body.writer.line(f"{self.memory.at(index)} = {text};")
      return
    place = self.memory.place(index)
    body.writer.line(
        f"Put({self.memory.buffer}, {place}, {self.lanes}, {text});"
    )


def _window(body, memory: Memory, sizes, starts) -> _Window:
  """Returns the window of these sizes at starts: pairs of text and Value."""
  writer = body.writer
  offsets, lanes = [], []
  for stride, (text, value) in zip(memory.strides, starts):
    if value is not None and value.lanes:
      scale = cpp.product(stride, "1")
      lanes.append(f"{text} * static_cast<{cpp.scalar(value.dtype)}>({scale})")
      dtype = value.dtype
    else:
      offsets.append(cpp.product(stride, text))
  part = memory.view(sizes, memory.strides, cpp.add(*offsets))
  if not lanes:
    return _Window(part, None)
  return _Window(part, writer.let(" + ".join(lanes), dtype, True))


def _index(body, value, index=()):
  """Returns an element of an array of indices, in 32 or 64 bits."""
  if value.dtype.itemsize < 4:
    raise errors.Unsupported(f"indices of dtype {value.dtype.name}")
  if isinstance(value, (values.Scalars, values.Constant)) and all(
      i.isdigit() for i in index
  ):
    return body.writer.names_of(value)[tuple(map(int, index))]
  readable = body.writer.readable(value)
  return body.writer.let(readable.at(index), value.dtype, value.lanes)


def _clamped(body, text, value, most):
  """Returns a start that keeps the window inside: (text, value)."""
  if not value.lanes:
    name = body.writer.name("i")
    body.writer.line(f"const int64_t {name} = ClampIndex({text}, {most});")
    return name, value
  clamped = f"ClampIndex({text}, {most})"
  return body.writer.let(clamped, value.dtype, True), value


def _starts(body, shape, sizes, starts):
  return [
      _clamped(body, _index(body, x), x, cpp.dim(n - size))
      for n, size, x in zip(shape, sizes, starts, strict=True)
  ]


@rule("dynamic_slice")
def _dynamic_slice(body, equation, x, *starts):
  sizes = equation.shape
  memory = body.writer.in_memory(x)
  words = [values.Constant.of(np.int32(0))] * equation.words
  starts = [*starts[: len(sizes) - len(words)], *words]
  starts = _starts(body, x.shape, sizes, starts)
  window = _window(body, memory, sizes, starts)
  if window.lanes is None:
    return body.loaded(window.memory)
  lazy = values.Lazy(
      sizes, x.dtype, True, lambda i: window.read(body, i), memory.reads
  )
  return body.loaded(body.settled(lazy))


def _changing(body, x, lanes: bool) -> Memory:
  """Returns memory that holds x and may change: its own if nobody reads it."""
  if (
      isinstance(x, Memory)
      and x.is_contiguous
      and x.offset == "0"
      and x.lanes == lanes
      and body.is_free(x.buffer)
  ):
    return x
  copy = body.writer.buffer(x.shape, x.dtype, lanes)
  body.writer.store(copy, x)
  return copy


def _apart(body, value, x) -> values.Value:
  """Returns a value that does not change while x does."""
  value = body.settled(value)
  if value.reads.isdisjoint(x.reads):
    return value
  copy = body.writer.buffer(value.shape, value.dtype, value.lanes)
  body.writer.store(copy, value)
  return copy


@rule("dynamic_update_slice")
def _dynamic_update_slice(body, equation, x, update, *starts):
  del equation
  writer = body.writer
  starts = starts[: len(x.shape)]
  lanes = any(v.lanes for v in (x, update, *starts))
  update = _apart(body, update, x)
  starts = _starts(body, x.shape, update.shape, starts)
  out = _changing(body, x, lanes)
  window = _window(body, out, update.shape, starts)
  if isinstance(update, values.Scalars):
    for index in np.ndindex(*update.shape):
      text = update.names[index]
      if lanes and not update.lanes:
        text = writer.splat(text, update.dtype)
      window.write(body, [str(i) for i in index], text)
    return out
  update = writer.in_memory(update)
  with writer.loops(update.shape) as index:
    window.write(body, index, writer.element(update, index, lanes))
  return out


@rule("gather")
def _gather(body, equation, x, indices):
  params = equation.params
  if isinstance(indices, values.Constant) and all(
      map(values.is_small, (x.shape, equation.shape))
  ):
    return _gather_constant(body, equation, x, indices)
  numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
  lanes = x.lanes or indices.lanes
  writer, memory = body.writer, body.writer.in_memory(x)
  indices = writer.readable(indices)
  out = writer.buffer(equation.shape, x.dtype, lanes)
  offset_dims = numbers.offset_dims
  batch = [d for d in range(len(out.shape)) if d not in offset_dims]
  dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
  window_dims = [d for d in range(len(x.shape)) if d not in dropped]
  with writer.loops([out.shape[d] for d in batch]) as outer:
    starts, inside = _scattered(
        body, x.shape, sizes, indices, outer, "FILL" not in str(params["mode"]),
        numbers.start_index_map,
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims),
    )  # fmt: skip
    window = _window(body, memory, sizes, starts)
    with writer.loops([sizes[d] for d in window_dims]) as inner:
      place, own = [""] * len(out.shape), ["0"] * len(x.shape)
      for d, i in zip([*batch, *offset_dims], [*outer, *inner]):
        place[d] = i
      for d, i in zip(window_dims, inner):
        own[d] = i
      text = window.read(body, own)
      if lanes and not x.lanes and window.lanes is None:
        text = writer.splat(text, x.dtype)
      if inside:
        fill = params["fill_value"]
        if fill is None:
          fill = np.nan if cpp.is_float(x.dtype) else _integer_fill(x.dtype)
        fill = cpp.literal(fill, x.dtype)
        if lanes:
          fill = writer.splat(fill, x.dtype)
          if not indices.lanes:
            inside = writer.splat(inside, bool)
        text = f"Select({inside}, {text}, {fill})"
      writer.line(f"{out.at(place)} = {text};")
  return body.loaded(out)


def _integer_fill(dtype):
  if dtype == bool:
    return True
  info = np.iinfo(dtype)
  return info.min if info.min < 0 else info.max


def _gather_constant(body, equation, x, indices):
  """Elements at indices that the build knows: JAX gathers their numbers."""
  numbers = jnp.arange(x.size, dtype=np.int32).reshape(x.shape)
  params = dict(equation.params, fill_value=-1)
  with jax.ensure_compile_time_eval():
    found = equation.equation.primitive.bind(
        numbers, jnp.asarray(indices.array), **params
    )
  names = body.writer.names_of(x).ravel()
  found = np.asarray(found)
  if (found < 0).any():
    raise errors.Unsupported("constant indices out of bounds")
  names = values.objects([names[i] for i in found.ravel()], found.shape)
  return values.Scalars.of(names, x.dtype, x.lanes)


def _scattered(body, shape, sizes, indices, batch, clips, mapped, batching):
  """Returns the starts of a window, and the name of whether it is inside."""
  writer = body.writer
  starts: list[Any] = [("0", None)] * len(shape)
  inside = []
  for k, d in enumerate(mapped):
    text = _index(body, indices, [*batch, str(k)])
    most = cpp.dim(shape[d] - sizes[d])
    if not clips:
      mask = writer.type_of(bool, indices.lanes)
      inside.append(f"IsInside<{mask}>({text}, {most})")
    starts[d] = _clamped(body, text, indices, most)
  for d, at in batching:
    starts[d] = (batch[at], None)
  if not inside:
    return starts, None
  return starts, writer.let(" & ".join(inside), bool, indices.lanes)


_COMBINE = {
    "scatter": lambda a, b: b,
    "scatter-add": lambda a, b: f"{a} + {b}",
    "scatter-max": lambda a, b: f"Max({a}, {b})",
    "scatter-min": lambda a, b: f"Min({a}, {b})",
    "scatter-mul": lambda a, b: f"{a} * {b}",
    "scatter-sub": lambda a, b: f"{a} - {b}",
}


@rule(*_COMBINE)
def _scatter(body, equation, x, indices, update):
  params, writer = equation.params, body.writer
  combine = _COMBINE[equation.name]
  numbers = params["dimension_numbers"]
  lanes = any(v.lanes for v in (x, indices, update))
  update = writer.in_memory(_apart(body, update, x))
  indices = writer.in_memory(_apart(body, indices, x))
  out = _changing(body, x, lanes)
  window = numbers.update_window_dims
  batch = [d for d in range(len(update.shape)) if d not in window]
  dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
  window_dims = [d for d in range(len(x.shape)) if d not in dropped]
  sizes = [1] * len(x.shape)
  for d, at in zip(window_dims, window):
    sizes[d] = update.shape[at]
  with writer.loops([update.shape[d] for d in batch]) as outer:
    starts, inside = _scattered(
        # XLA drops what a promise said to be inside, and is not.
        body, x.shape, sizes, indices, outer, "CLIP" in str(params["mode"]),
        numbers.scatter_dims_to_operand_dims,
        zip(
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
        ),
    )  # fmt: skip
    part = _window(body, out, sizes, starts)
    with writer.loops([update.shape[d] for d in window]) as inner:
      place, own = [""] * len(update.shape), ["0"] * len(x.shape)
      for d, i in zip([*batch, *window], [*outer, *inner]):
        place[d] = i
      for d, i in zip(window_dims, inner):
        own[d] = i
      before = part.read(body, own)
      text = combine(before, writer.element(update, place, lanes))
      if inside:
        where = inside
        if lanes and not indices.lanes:
          where = writer.splat(inside, bool)
        text = f"Select({where}, {text}, {before})"
      part.write(body, own, text)
  return out
