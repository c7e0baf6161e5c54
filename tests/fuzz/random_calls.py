# SPDX-License-Identifier: Apache-2.0
"""Direct calls that are drawn at random: right ones, and what becomes of them.

All of it follows from an op's declaration, by docs/contract.md.
"""

import dataclasses
import math
import random

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.declare.value import Value
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing.cases import choices
from jax_ffi_ops.kit.testing.direct import wrong_calls
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.frames import Buffer
from jax_ffi_ops.kit.testing.direct.frames import Frame

_LOOPS = (1, 1, 1, 2, 2, 3, 5, 8)
_CORES = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 127, 255, 300, 1023)
_LARGEST = 1 << 18  # Of all dimensions: a definition may have an array of them.
_HUGE = (2**31, 2**32, 2**40)
# What a buffer may have of elements: a few, or enough for several threads.
_FEW, _MANY = 1 << 12, 1 << 16
_INTEGERS = (-(2**63), -(2**62), -1, 0, 1, 2, 3, 4, 7, 8, 2**31, 2**62)
_FLOATS = (-np.inf, -1.0, -0.0, 0.0, 1e-300, 0.5, 1e300, np.inf, np.nan)


def cases(case: Case) -> list[Case]:
  """Returns the case with all choices of operands and dtypes."""
  return [x for p in choices.presences(case) for x in choices.dtypes(p)]


def sized(case: Case, rng: random.Random) -> Case:
  """Returns the case with other core dimensions and attributes."""
  while True:
    try:
      return _sized(case, rng)
    except ValueError:  # Its definition refuses some cores that are empty.
      if case.empty_cores:
        raise


def _sized(case, rng):
  total = 1
  for dim in choices.dims(case):
    size = rng.choice((*_CORES, rng.randrange(400)))
    if total * size > _LARGEST:
      size = rng.randrange(3)
    total *= max(1, size)
    case = choices.resized(case, (dim,), size)
  attributes = dict(case.attributes)
  for name, attribute in case.op.attributes.items():
    if name not in attributes:
      continue  # The public function sets it.
    if attribute.type in (bool, np.bool_):
      attributes[name] = rng.random() < 0.5
    if attribute.type in (np.float32, np.float64):
      least = attribute.minimum or 0
      values = [least + x for x in (0, 1e-6, 0.25, 1e3)]
      attributes[name] = rng.choice([*filter(attribute.allows, values)])
  return dataclasses.replace(case, attributes=attributes)


def right(target: Target, rng: random.Random) -> Frame:
  """Returns a call that the contract allows."""
  op = target.call.op
  largest = max(math.prod(core) for core in target.cores.values())
  many = rng.random() < 0.05
  limit = max(1, (_MANY if many else _FEW) // max(1, largest))
  full = _sizes(rng, rng.randrange(many, 5), limit, many)
  trailing = ()
  if op.signature.starred:
    trailing = _sizes(
        rng, rng.randrange(3), max(1, limit // max(1, math.prod(full)))
    )
  rank = rng.randint(0, len(full)) if target.is_backward else 0

  def some(sizes):
    return tuple(n if rng.random() < 0.6 else 1 for n in sizes)

  loops = dict.fromkeys(target.operands, (full, trailing))
  names = () if op.buffers.broadcast_operands else target.operands
  shareable = target.shareable if target.is_backward else ()
  # In a backward call, rows are those of an operand that they do not share.
  whole = next((n for n in names if n not in shareable), None)
  for name in names:
    if name == whole and target.is_backward:
      continue
    kind = rng.random()
    if name in shareable and rank < len(full) and kind < 0.7:
      shared = full[:rank] if kind < 0.5 else some(full[:rank])
      loops[name] = shared, ()
    elif kind < 0.8:
      loops[name] = some(full), some(trailing)
    elif kind < 0.9:
      loops[name] = (), ()
  dtypes = {**target.dtypes, **target.result_dtypes(target.dtypes)}
  dtypes |= {"d" + name: dtypes[name] for name in target.cotangents}
  buffers = {}
  for name, (leading, own) in loops.items():
    own = own if op.axes[name][1] else ()
    shape = Parts(leading, target.core(name), own).shape
    buffers[name] = Buffer(shape, jnp.dtype(dtypes[name]))
  return target.frame(buffers, rank, len(trailing))


def _sizes(rng, rank, limit, many=False):
  sizes = [rng.choice(_LOOPS) for _ in range(rank)]
  if sizes and (many or rng.random() < 0.5):
    sizes[rng.randrange(rank)] = rng.randrange(many * limit // 2, limit + 1)
  while math.prod(sizes) > limit:
    sizes[sizes.index(min(n for n in sizes if n > 1))] = 1
  if rank and rng.random() < 0.06:
    sizes[rng.randrange(rank)] = rng.choice((1, *_HUGE))
    sizes[rng.randrange(rank)] = 0  # Then others may be as large as they like.
  return tuple(sizes)


def mutated(right_one: Frame, rng: random.Random) -> Frame:
  """Returns a call that differs from a right one in up to three things."""
  frame = right_one
  for _ in range(rng.choice((1, 1, 1, 2, 3))):
    change = rng.choice((_dtype, _shape, _shape, _count, _attribute))
    frame = change(frame, rng)
  return dataclasses.replace(
      frame,
      operands=_named_as(right_one.operands, frame.operands),
      results=_named_as(right_one.results, frame.results),
  )


def _named_as(names, buffers):
  """Names are for us alone: what counts is the place."""
  if len(names) != len(buffers):
    return buffers
  return dict(zip(names, buffers.values()))


def _dtype(frame, rng):
  if not frame.buffers:
    return frame
  name, b = rng.choice(list(frame.buffers.items()))
  few = rng.random() < 0.5  # Those that a handler might take.
  dtype = jnp.dtype(rng.choice(kit.FLOATING if few else wrong_calls.DTYPES))
  return frame.replace(**{name: Buffer(b.shape, dtype)})


def _shape(frame, rng):
  if not frame.buffers:
    return frame
  name, b = rng.choice(list(frame.buffers.items()))
  shape = rng.choice(sorted(wrong_calls.near_shapes(b.shape)))
  if rng.random() < 0.3:  # Nothing, whatever the product of the sizes is.
    shape = [rng.choice((n, *_HUGE, 2**62)) for n in shape]
    shape.insert(rng.randrange(len(shape) + 1), 0)
  return frame.replace(**{name: Buffer(tuple(shape), b.dtype)})


def _count(frame, rng):
  side = rng.choice(("operands", "results"))
  buffers = dict(getattr(frame, side))
  if not buffers:
    return frame
  name = rng.choice(list(buffers))
  if rng.random() < 0.5:
    del buffers[name]
  else:
    buffers[name + " again"] = buffers[name]
  return dataclasses.replace(frame, **{side: buffers})


def _attribute(frame, rng):
  attributes = dict(frame.attributes)
  name = rng.choice((*attributes, "unknown"))
  value = attributes.pop(name, None)
  if value is None or rng.random() < 0.3:
    attributes[name] = rng.choice(wrong_calls.VALUES)
  elif isinstance(value, np.bool_):
    attributes[name] = np.bool_(not value)
  elif isinstance(value, np.integer):
    value = rng.choice((*_INTEGERS, int(value) ^ 1 << rng.randrange(8)))
    attributes[name] = np.int64(value)
  elif isinstance(value, np.floating):
    with np.errstate(over="ignore"):
      attributes[name] = type(value)(rng.choice(_FLOATS))
  return dataclasses.replace(frame, attributes=attributes)


def may_be(target: Target, frame: Frame, right_one: Frame) -> bool | None:
  """Returns whether the contract allows what became of a right call.

  None: it does if other calls of the op are right, which is not looked at.
  """
  attributes = dict(frame.attributes)
  changed = False
  for name, value in right_one.attributes.items():
    got = attributes.get(name)
    if name in ("batch_rank", "trailing_rank") or type(got) is not type(value):
      continue
    if not np.array_equal(got, value) and _is_legal(target, name, got):
      if name in ("present", "wanted"):
        return None
      changed = True
      if name in _sizing(target.call.op):
        target = _with_attribute(target, name, got)
      else:
        attributes[name] = value
  if not right_one.attributes:
    attributes = {}  # XLA counts none where a handler takes none.
  allowed = target.allows(dataclasses.replace(frame, attributes=attributes))
  if not allowed and _may_have_other_dtypes(target, frame, right_one):
    return None
  return None if allowed and changed else allowed


def _sizing(op):
  """Returns the names that sizes of results follow from."""
  functions = op.results.sizes.values()
  return op.signature.result_names.union(*(x.names for x in functions))


def _with_attribute(target, name, value):
  """Returns the target with another value of an attribute."""
  attributes = Value({**target.call.attributes.value, name: Value(value)})
  call = dataclasses.replace(target.call, attributes=attributes)
  return dataclasses.replace(target, call=call)


def _may_have_other_dtypes(target, frame, right_one):
  """Returns whether an operand that is not passed may have another dtype."""
  pairs = zip(frame.buffers.values(), right_one.buffers.values())
  return set(target.dtypes) - set(target.operands) and all(
      b.dtype != own.dtype for b, own in pairs
  )


def _is_legal(target, name, value):
  op = target.call.declared
  slots = range(len(op.operands))
  if name == "wanted":
    return 0 <= value < 1 << len(slots)
  if name == "present":
    required = sum(1 << i for i in slots if i not in op.signature.optional)
    return 0 <= value < 1 << len(slots) and int(value) & required == required
  return op.attributes[name].allows(value)
