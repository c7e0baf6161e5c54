# SPDX-License-Identifier: Apache-2.0
"""Right direct calls of an op's targets, in all forms of broadcasting."""

from collections.abc import Iterator, Mapping
import math
from typing import NamedTuple

import numpy as np

from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.testing.cases.case import Case
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.expected import Arrays
from jax_ffi_ops.kit.testing.direct.expected import Definition
from jax_ffi_ops.kit.testing.direct.frames import Buffer
from jax_ffi_ops.kit.testing.direct.frames import Frame
from jax_ffi_ops.kit.testing.direct.frames import Shape

# No size becomes 1, which would broadcast, when it changes by one.
_LEADING = (3, 4)
_TRAILING = (5,)
# What an operand may have of them.
_FORMS = ((), (1, 1), (3, 1), (1, 4), (3, 4))
_FEW_FORMS = ((), (1, 4))  # Others are drawn at random.
_RANDOM = 12 if THOROUGH else 6
# parallel.h: what one thread moves at least, and so a range of rows.
_RANGE_BYTES = 256 * 1024
_RANGES = 2
# More than a kernel's table of a few ranges, of 64 bits or of 64 parts has.
_MANY_RANGES = 66
# More than 64, and a prime.
_ROWS = 71
_COLUMNS = (8, 31, 64, 1025)
# As many rows differ. A prime: no row of another range stands in for one.
_PERIOD = 997


class Right(NamedTuple):
  """A call, its operands, and what is special about it."""

  label: str
  frame: Frame
  arrays: Arrays


# The leading and trailing loops of each operand.
_Loops = Mapping[str, tuple[Shape, Shape]]


def call(
    target: Target,
    definition: Definition,
    loops: _Loops,
    batch_rank: int = 0,
    trailing: int = 0,
    seed: int = 0,
) -> Right:
  """Returns the call whose operands have these loops."""
  axes = target.call.op.axes
  parts = {
      name: Parts(leading, target.core(name), own if axes[name][1] else ())
      for name, (leading, own) in loops.items()
  }
  arrays = definition.arrays(target, parts, seed)
  buffers = {
      name: Buffer(arrays[name].shape, arrays[name].dtype)
      for name in target.operands
  }
  if not any(any(loops[name]) for name in target.operands):
    trailing = 0  # There are no loops.
  frame = target.frame(buffers, batch_rank, trailing)
  label = _label(buffers)
  if target.is_backward:
    label += f", batch_rank={batch_rank}"
  return Right(label, frame, arrays)


def _label(buffers):
  return ", ".join(f"{name}{list(b.shape)}" for name, b in buffers.items())


def _trailing(target):
  return _TRAILING if target.call.op.signature.starred else ()


def _all_have(target, leading, trailing=(), shared=None):
  """Returns loops for all operands; weights of a backward call have `shared`."""
  names = (*target.operands, *target.call.op.operands)
  loops = dict.fromkeys(names, (leading, trailing))
  if target.is_backward and shared is not None:
    loops |= {name: (shared, ()) for name in target.shareable}
  return loops


def plain(target: Target, definition: Definition) -> Right:
  """Returns a call as programs mostly have it."""
  trailing = _trailing(target)
  loops = _all_have(target, _LEADING, trailing, shared=_LEADING[:1])
  return call(target, definition, loops, 1, len(trailing))


def broadcast(target: Target, definition: Definition) -> Iterator[Right]:
  """Yields calls whose operands lack loops or have them as 1."""
  trailing = _trailing(target)
  names = [n for n in target.operands if definition.is_free(target, n)]
  if target.call.op.buffers.broadcast_operands:
    names = []
  for name in names:
    for leading in _FORMS[:-1] if THOROUGH else _FEW_FORMS:
      own = tuple(1 for _ in trailing) if leading else ()
      loops = _all_have(target, _LEADING, trailing)
      loops[name] = (leading, own)
      yield call(target, definition, loops, 0, len(trailing))
    loops = _all_have(target, (2,) * 8, trailing)
    loops[name] = ((2, 1) * 4, trailing)
    yield call(target, definition, loops, 0, len(trailing))
  for rank in range(len(_LEADING) + 1) if target.is_backward else ():
    for shared in {(), (1,) * rank, _LEADING[:rank]}:
      loops = _all_have(target, _LEADING, trailing, shared=shared)
      yield call(target, definition, loops, rank, len(trailing))
  for seed in range(_RANDOM):
    yield _random(target, definition, names, trailing, seed)


def _random(target, definition, names, trailing, seed):
  rng = np.random.default_rng(seed)
  full = tuple(int(n) for n in rng.choice((1, 2, 3, 5), rng.integers(1, 5)))
  rank = int(rng.integers(len(full) + 1))

  def some(sizes):
    return tuple(n if rng.random() < 0.5 else 1 for n in sizes)

  loops = _all_have(target, full, trailing)
  for name in names:
    loops[name] = (some(full), some(trailing))
    if target.is_backward and name in target.shareable and rng.random() < 0.7:
      loops[name] = (some(full[:rank]), ())
      if rank == len(full):
        loops[name] = (some(full), trailing)
  return call(target, definition, loops, rank, len(trailing), seed)


def empty(target: Target, definition: Definition) -> Iterator[Right]:
  """Yields calls without any rows."""
  trailing = _trailing(target)
  for leading in ((0,), (3, 0), (0, 3), (2, 0, 3)):
    for rank in range(len(leading) + 1) if target.is_backward else (0,):
      loops = _all_have(target, leading, trailing, shared=leading[:rank])
      yield call(target, definition, loops, rank, len(trailing))
  if trailing:
    loops = _all_have(target, _LEADING, (0,))
    yield call(target, definition, loops, 0, 1)


def some_rows(
    target: Target, definition: Definition, columns: int = 1
) -> Right:
  """Returns a call of a few rows, more than a kernel takes at once.

  Args:
    target: what is called.
    definition: of its case.
    columns: how many trailing loops there are, if there are any.
  """
  widest = max(math.prod(core) for core in target.cores.values())
  rows = 7 if THOROUGH or widest < 1000 else 3
  trailing = (columns,) * bool(_trailing(target))
  loops = _all_have(target, (rows,), trailing, shared=())
  return call(target, definition, loops, 0, len(trailing))


def columns(target: Target) -> tuple[int, ...]:
  """Returns how many trailing loops to try with each size of a core."""
  return (1, 3) if _trailing(target) else (1,)


def more_columns(target: Target, definition: Definition) -> Iterator[Right]:
  """Yields calls with many trailing loops, odd and even ones."""
  for count in _COLUMNS if _trailing(target) else ():
    yield some_rows(target, definition, count)


def shared_rows(target: Target, definition: Definition) -> Iterator[Right]:
  """Yields calls of more rows than a vector has bits, also with shared ones."""
  trailing = _trailing(target)
  yield with_rows(target, definition, _ROWS)
  names = [n for n in target.operands if definition.is_free(target, n)]
  for name in [] if target.call.op.buffers.broadcast_operands else names:
    for leading in ((), (1, _ROWS), (2, 1)) if THOROUGH else ((),):
      loops = _all_have(target, (2, _ROWS), trailing)
      loops[name] = (leading, trailing if leading else ())
      yield call(target, definition, loops, 0, len(trailing))


def with_rows(target: Target, definition: Definition, count: int) -> Right:
  """Returns a call in which all operands have so many rows."""
  trailing = _trailing(target)
  loops = _all_have(target, (count,), trailing)
  return call(target, definition, loops, 0, len(trailing))


def many(case: Case, ranges: int = _RANGES) -> int:
  """Returns how many rows make several ranges."""
  row = max(
      math.prod(x.core) * np.dtype(x.dtype).itemsize for x in case.operands
  )
  return ranges * _RANGE_BYTES // max(1, row) + 3


def many_rows(target: Target, definition: Definition) -> Iterator[Right]:
  """Yields calls that take several ranges."""
  trailing = _trailing(target)
  rows = many(definition.case)
  loops = _all_have(target, (rows,), trailing, shared=())
  yield call(target, definition, loops, 0, len(trailing))
  if target.is_backward and target.shareable:
    # One group after the other.
    loops = _all_have(target, (rows // 5, 5), trailing, shared=(rows // 5,))
    yield call(target, definition, loops, 1, len(trailing))


def many_ranges(target: Target, definition: Definition) -> tuple[Right, Right]:
  """Returns a call of a few rows, and one that repeats them."""
  few = with_rows(target, definition, _PERIOD)
  times = -(-many(definition.case, _MANY_RANGES) // _PERIOD)
  arrays = {
      name: np.tile(few.arrays[name], (times, *(1,) * (len(b.shape) - 1)))
      for name, b in few.frame.operands.items()
  }
  buffers = {name: Buffer(x.shape, x.dtype) for name, x in arrays.items()}
  frame = target.frame(buffers, 0, len(_trailing(target)))
  return few, Right(_label(buffers), frame, arrays)


def of_frame(
    target: Target, definition: Definition, frame: Frame
) -> Right | None:
  """Returns operands for an allowed call, if it is defined what it gives."""
  dims = target.dimensions(frame)
  parts = dict(zip(frame.operands, dims.arrays))
  for name in (*target.operands, *target.call.op.operands):
    full = dims.full(
        target.core(name, dims.sizes), target.call.op.axes[name][1]
    )
    if parts.setdefault(name, full) != full:
      if not definition.is_free(target, name):
        return None
  arrays = definition.arrays(target, parts)
  for name, b in frame.operands.items():
    arrays[name] = arrays[name].astype(b.dtype)
  return Right("", frame, arrays)
