# SPDX-License-Identifier: Apache-2.0
"""Slices, gathers and scatters at indices that are known when they run."""

from collections.abc import Sequence
import contextlib
import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.families import elementwise
from jax_ffi_ops.loops.rules import rule


@dataclasses.dataclass(frozen=True)
class Window:
  """A part of an array in memory that begins at indices.

  Attributes:
    memory: the part, at the indices that all lanes share.
    lanes: how many elements further on each lane's part begins; None if all
      lanes have the same part.
  """

  memory: values.Memory
  lanes: cpp.Code | None

  def read(self, index: Sequence[cpp.Code]) -> cpp.Code:
    if self.lanes is None:
      return self.memory.at(index)
    to = cpp.type_of(self.memory.dtype, True)
    buffer, place = self.memory.buffer.name, self.memory.place(index)
    return cpp.code("At<{}>({}, {}, {})", to, buffer, place, self.lanes)

  def write(self, body, index: Sequence[cpp.Code], text: cpp.Code) -> None:
    if body.mask and self.memory.lanes:
      own = self.read(index)
      text = cpp.code("Select({}, {}, {})", body.mask, text, own)
    if self.lanes is None:
      body.writer.assign(self.memory.at(index), text)
      return
    buffer, place = self.memory.buffer.name, self.memory.place(index)
    body.writer.line("Put({}, {}, {}, {});", buffer, place, self.lanes, text)


def _window(body, memory: values.Memory, sizes, starts) -> Window:
  """Returns the window of these sizes at starts.

  Each is a text, and its dtype if lanes differ in it.
  """
  offsets, lanes = [], []
  dtype = _dtype_of_offsets(memory, [own for _, own in starts])
  for stride, (text, own) in zip(memory.strides, starts):
    if own is None:
      offsets.append(cpp.product(stride, text))
      continue
    if own != dtype:
      text = cpp.code("Convert<{}>({})", cpp.vector(dtype), text)
    if stride != 1:
      ctype = cpp.scalar(dtype)
      text = cpp.code("{} * static_cast<{}>({})", text, ctype, cpp.dim(stride))
    lanes.append(text)
  part = memory.view(sizes, memory.strides, cpp.add(*offsets))
  if not lanes:
    return Window(part, None)
  return Window(part, body.writer.let(cpp.joined("+", lanes), dtype, True))


def _dtype_of_offsets(memory: values.Memory, dtypes) -> np.dtype:
  """Returns one for sums of indices times strides, which may be negative."""
  sides = list(zip(memory.shape, memory.strides, dtypes))
  indexed = [(s, own) for _, s, own in sides if own is not None]
  has_sizes = all(isinstance(x, int) for n, s, _ in sides for x in (n, s))
  is_near = has_sizes and sum(n * abs(s) for n, s, _ in sides) < 2**31
  is_narrow = is_near and all(own.itemsize == 4 for _, own in indexed)
  # An index that is an offset itself has its dtype.
  fits = is_narrow or indexed == [(1, np.int32)]
  return np.dtype(np.int32 if fits else np.int64)


def _wide(body, indices):
  """Returns indices in 32 or 64 bits: others cannot be beyond large arrays."""
  if indices.dtype.itemsize >= 4:
    return indices
  return body.retrace(lambda x: x.astype(np.int32), indices)[0]


def _index(body, value, index=()):
  """Returns an element of an array of indices."""
  if isinstance(value, (values.Scalars, values.Constant)) and all(
      i.number is not None for i in index
  ):
    return body.writer.names_of(value)[tuple(i.number for i in index)]
  readable = body.writer.readable(value)
  return body.writer.let(readable.at(index), value.dtype, value.lanes)


def _clamped(body, text, value, most):
  """Returns a start that keeps the window inside, for `_window`."""
  clamped = cpp.code("ClampIndex({}, {})", text, most)
  if not value.lanes:
    return body.writer.let(clamped, np.int64, False), None
  return body.writer.let(clamped, value.dtype, True), value.dtype


def _starts(body, shape, sizes, starts):
  return [
      _clamped(body, _index(body, x), x, cpp.dim(n - size))
      for n, size, x in zip(
          shape, sizes, (_wide(body, x) for x in starts), strict=True
      )
  ]


@rule("dynamic_slice")
def _dynamic_slice(body, equation, x, *starts):
  sizes = equation.shape
  memory = body.writer.in_memory(x)
  starts = _starts(body, x.shape, sizes, starts[: len(sizes)])
  window = _window(body, memory, sizes, starts)
  if window.lanes is None:
    return body.loaded(window.memory)
  lazy = values.Lazy(sizes, x.dtype, True, window.read, (memory,))
  return body.loaded(body.settled(lazy))


def _combined(name, before, text, x) -> cpp.Code:
  """Returns what "scatter-max" makes of an element of x and a new one."""
  _, _, operation = name.partition("-")
  if operation:
    text = cpp.code(elementwise.template(operation, x.dtype), before, text)
  return cpp.inner(text, x.dtype, x.lanes)


def apart(body, value, x) -> values.Value:
  """Returns a value that does not change while x does."""
  value = body.settled(value)
  if value.reads.isdisjoint(x.reads):
    return value
  return body.writer.copied(value, value.lanes)


def _changed(body, equation, x, parts, change) -> values.Value:
  """Returns x with a change that is made of parts.

  Args:
    body: what is being written.
    equation: makes the change.
    x: an array.
    parts: other arrays.
    change: takes memory and the name of an equation, and does there what that
      one does.
  """
  lanes = any(v.lanes for v in (x, *parts))
  is_patch = equation.name in ("dynamic_update_slice", "scatter-add")
  is_patch &= values.is_zero(x) and not values.is_small(x.shape)
  if is_patch and equation.destinations[0] is None:

    def write(out, adds):
      change(out, "scatter-add" if adds else equation.name)

    return values.Patch(x.shape, x.dtype, lanes, write, parts)
  out = body.changing(x, lanes)
  change(out, equation.name)
  return out


@rule("dynamic_update_slice")
def _dynamic_update_slice(body, equation, x, update, *starts):
  starts = starts[: len(x.shape)]
  update = body.settled(update)
  places = _starts(body, x.shape, update.shape, starts)

  def change(out, name):
    own = apart(body, update, out)
    combine(body, _window(body, out, own.shape, places), own, name)

  return _changed(body, equation, x, (update, *starts), change)


def combine(body, window: Window, x: values.Value, name: str) -> None:
  """Changes all elements of a window as an equation of this name does."""
  writer, lanes = body.writer, window.memory.lanes

  def change(index, text):
    own = window.memory
    window.write(body, index, _combined(name, window.read(index), text, own))

  if isinstance(x, values.Scalars):
    names = writer.names_in_lanes(x, lanes)
    for index in np.ndindex(*x.shape):
      change(list(map(cpp.dim, index)), names[index])
    return
  x = writer.in_memory(x)
  with writer.loops(x.shape) as index:
    change(index, writer.element(x, index, lanes))


@contextlib.contextmanager
def _windows(body, x, indices, shape, sizes, dims, clips):
  """Goes over the elements of windows of x that begin at indices.

  Args:
    body: what is being written.
    x: memory in which the windows are.
    indices: where they begin.
    shape: of an array with all windows, one for each index.
    sizes: of a window, in the dimensions of x.
    dims: four groups of dimensions: those of a window in that array; those of x
      that a window lacks; those of x that have an index; and pairs, of x and of
      indices, that count the windows.
    clips: whether windows that reach outside of x are moved inside.

  Yields:
    The window, whether it is inside (or None if it has to be), the index of an
    element in the array and that in the window.
  """
  of_window, dropped, indexed, counting = dims
  writer = body.writer
  of_indices = [d for d in range(len(shape)) if d not in of_window]
  kept = [d for d in range(len(x.shape)) if d not in dropped]
  with writer.loops([shape[d] for d in of_indices]) as outer:
    starts: list[Any] = [(cpp.ZERO, None)] * len(x.shape)
    tests = []
    for k, d in enumerate(indexed):
      text = _index(body, indices, [*outer, cpp.dim(k)])
      most = cpp.dim(x.shape[d] - sizes[d])
      if not clips:
        mask = cpp.type_of(bool, indices.lanes)
        tests.append(cpp.code("IsInside<{}>({}, {})", mask, text, most))
      starts[d] = _clamped(body, text, indices, most)
    for d, at in counting:
      starts[d] = (outer[at], None)
    inside = None
    if tests:
      inside = writer.let(cpp.joined("&", tests), bool, indices.lanes)
    window = _window(body, x, sizes, starts)
    with writer.loops([sizes[d] for d in kept]) as inner:
      place = dict(zip([*of_indices, *of_window], [*outer, *inner]))
      own = dict.fromkeys(range(len(x.shape)), cpp.ZERO) | dict(
          zip(kept, inner)
      )
      places = [place[d] for d in range(len(shape))]
      yield window, inside, places, list(own.values())


@rule("gather")
def _gather(body, equation, x, indices):
  params, writer = equation.params, body.writer
  is_small = all(map(values.is_small, (x.shape, equation.shape)))
  if isinstance(indices, values.Constant) and is_small:
    places = _places(equation, x, indices)
    if (places >= 0).all():
      return body.writer.picked(x, places)
  numbers = params["dimension_numbers"]
  lanes = x.lanes or indices.lanes
  memory = writer.in_memory(x)
  indices = writer.readable(_wide(body, indices))
  out = writer.buffer(equation.shape, x.dtype, lanes)
  dims = (
      numbers.offset_dims,
      {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims},
      numbers.start_index_map,
      zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims),
  )
  clips = params["mode"] != jax.lax.GatherScatterMode.FILL_OR_DROP
  with _windows(
      body, memory, indices, out.shape, params["slice_sizes"], dims, clips
  ) as (window, inside, place, own):
    splats = lanes and not x.lanes and window.lanes is None
    text = writer.splat(window.read(own), x.dtype, splats)
    if inside:
      fill = writer.literal(params["fill_value"], x.dtype, lanes)
      inside = writer.splat(inside, bool, lanes > indices.lanes)
      text = cpp.code("Select({}, {}, {})", inside, text, fill)
    writer.assign(out.at(place), text)
  return body.loaded(out)


def _places(equation, x, indices) -> np.ndarray:
  """Returns the elements at known indices: JAX gathers their numbers, or -1."""
  numbers = values.Constant.of(np.arange(x.size).reshape(x.shape))
  own = equation.of.replace(params=dict(equation.params, fill_value=-1))
  return jaxprs.folded(own, [numbers, indices])[0].array


@rule(
    "scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul",
    "scatter-sub",
)  # fmt: skip
def _scatter(body, equation, x, indices, update):
  function = equation.params["update_jaxpr"]
  if equation.name == "scatter" and function and function.eqns:
    raise errors.Unsupported("`at[...].apply` of a function")
  if x.size == 0:
    return x  # No window has a place there.
  indices, update = body.settled(_wide(body, indices)), body.settled(update)
  change = functools.partial(_scattered, body, equation, indices, update)
  return _changed(body, equation, x, (indices, update), change)


def _scattered(body, equation, indices, update, out, name) -> None:
  """Combines windows of an array in memory with updates."""
  params, writer = equation.params, body.writer
  numbers = params["dimension_numbers"]
  update = writer.in_memory(apart(body, update, out))
  indices = writer.in_memory(apart(body, indices, out))
  dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
  of_window = iter(update.shape[d] for d in numbers.update_window_dims)
  sizes = [
      1 if d in dropped else next(of_window) for d in range(len(out.shape))
  ]
  dims = (
      numbers.update_window_dims,
      dropped,
      numbers.scatter_dims_to_operand_dims,
      zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims),
  )
  # Where indices are promised to be inside and are not, XLA drops the update.
  clips = params["mode"] == jax.lax.GatherScatterMode.CLIP
  with contextlib.ExitStack() as stack:
    if not isinstance(out.size, int):  # It may be 0: see `_scatter`.
      stack.enter_context(writer.block("if ({} > 0)", cpp.dim(out.size)))
    window, inside, place, own = stack.enter_context(
        _windows(body, out, indices, update.shape, sizes, dims, clips)
    )
    before = window.read(own)
    text = writer.element(update, place, out.lanes)
    text = _combined(name, before, text, out)
    if inside:
      inside = writer.splat(inside, bool, out.lanes > indices.lanes)
      text = cpp.code("Select({}, {}, {})", inside, text, before)
    window.write(body, own, text)
