# SPDX-License-Identifier: Apache-2.0
"""Direct calls that differ from a right one in one thing."""

from collections.abc import Iterator, Mapping
import dataclasses
import itertools
import re
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.declare.attributes import Attribute
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.frames import Buffer
from jax_ffi_ops.kit.testing.direct.frames import Frame

DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "bool"),
    *("int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    *("float8_e8m0fnu", "complex64", "complex128"),
)
_FEW_DTYPES = (*DTYPES[:5], "int32")

# Attributes of all types. jax.ffi takes attributes of equal value for the same,
# whatever their type: each of these is another one.
VALUES = (
    *(np.float32(1002), np.float64(1003), np.int32(1004), np.int64(1005)),
    *(np.uint8(106), np.uint64(1007), np.bool_(True), "text"),
    *(np.array([1008.0]), np.array(1009.0), np.array([1010])),
    *(np.array([1011], np.int32), {"a": 1012}),
)
_INT64 = Attribute(np.int64)


class Wrong(NamedTuple):
  """A call, and what its refusal has to say.

  Attributes:
    label: what is wrong.
    frame: the call.
    message: pattern of what comes after the op's name.
  """

  label: str
  frame: Frame
  message: str = ""


def counts(frame: Frame) -> Iterator[Wrong]:
  """Yields calls with an operand or a result too few or too many."""
  for side in ("operands", "results"):
    buffers = getattr(frame, side)
    for name in buffers:
      less = {k: b for k, b in buffers.items() if k != name}
      more = {**buffers, name + " again": buffers[name]}
      for label, other in ((f"without {name}", less), (f"{name} twice", more)):
        yield Wrong(label, dataclasses.replace(frame, **{side: other}))


def shapes(target: Target, frame: Frame) -> Iterator[Wrong]:
  """Yields calls with one buffer of another shape, or with a wrong dimension.

  A dimension of a fixed size, or a multiple, is wrong in all buffers alike.
  """
  yield from _wrong_dimensions(target, frame)
  for name, b in frame.buffers.items():
    for shape in sorted(near_shapes(b.shape)):
      wrong = frame.replace(**{name: Buffer(shape, b.dtype)})
      yield Wrong(
          f"{name} of shape {shape}", wrong, _names(target, frame, name)
      )


def _wrong_dimensions(target, frame):
  axes = target.call.op.axes
  cores = {}
  for name in frame.buffers:
    known = name if name in axes else name[1:]  # The gradient of an operand.
    if known in axes:
      cores[name] = axes[known]
  for dim in dict.fromkeys(d for core, _ in cores.values() for d in core):
    if dim.isidentifier():
      continue
    changed = {}
    for name, (core, starred) in cores.items():
      if dim in core:
        shape = list(frame.buffers[name].shape)
        trailing = int(frame.attributes.get("trailing_rank", 0)) * starred
        shape[len(shape) - trailing - len(core) + core.index(dim)] += 1
        changed[name] = Buffer(tuple(shape), frame.buffers[name].dtype)
    yield Wrong(
        f"a dimension {dim!r} of another size in {', '.join(changed)}",
        frame.replace(**changed),
        "|".join(frame.buffers),
    )


def dtypes(target: Target, frame: Frame) -> Iterator[Wrong]:
  """Yields calls with one buffer, or all weights, of another dtype."""
  for name, b in frame.buffers.items():
    # What all must not have is seen with the first.
    is_first = name == next(iter(frame.operands))
    for dtype in DTYPES if is_first else _FEW_DTYPES:
      if jnp.dtype(dtype) != b.dtype:
        wrong = frame.replace(**{name: Buffer(b.shape, jnp.dtype(dtype))})
        yield Wrong(
            f"{name} of dtype {dtype}", wrong, _names(target, frame, name)
        )
  weights = [n for n in target.call.op.weights if n in frame.operands]
  for dtype in DTYPES[:4] if weights else ():
    changed = {
        name: Buffer(b.shape, jnp.dtype(dtype))
        for name, b in frame.buffers.items()
        if name in weights or name[1:] in weights
    }
    wrong = frame.replace(**changed)
    if wrong != frame:
      yield Wrong(f"{weights} of dtype {dtype}", wrong, "|".join(frame.buffers))


def near_shapes(shape: tuple[int, ...]) -> set[tuple[int, ...]]:
  """Returns shapes of other ranks, or with another size in one dimension."""
  found = {(), shape[1:], shape[:-1], (1, *shape), (*shape, 1)}
  for axis, size in enumerate(shape):
    for other in (0, 1, size - 1, size + 1):
      found.add((*shape[:axis], other, *shape[axis + 1 :]))
  return {x for x in found if x != shape and min(x, default=0) >= 0}


def _names(target, frame, name):
  """The first operand but weights is right alone: others disagree with it."""
  weights = target.call.op.weights
  first = next(n for n in frame.operands if n not in weights)
  if name == first:
    return "|".join(frame.buffers)
  bare = re.sub("^d|_workspace$", "", name)
  return "|".join([rf"\w*{bare}\w*|d?{name}", *_later(target, frame, name)])


def _later(target, frame, name):
  """Returns what disagrees with a buffer that is the first with a dimension."""
  axes = target.call.op.axes
  cores = {
      n: set(core_sizes.names([axes[n][0]])) for n in frame.buffers if n in axes
  }
  earlier = itertools.takewhile(lambda n: n != name, frame.buffers)
  own = cores.get(name, set()).difference(*(cores.get(n, ()) for n in earlier))
  return [n for n, core in cores.items() if n != name and core & own]


def attribute_types(target: Target, frame: Frame) -> Iterator[Wrong]:
  """Yields calls with an attribute missing, too many or of another type."""
  for name, value in frame.attributes.items():
    others = {k: v for k, v in frame.attributes.items() if k != name}
    wrong = {
        "missing": others,
        "misnamed": {**others, name + "_": value},
    }
    declared = target.call.op.attributes.get(name, _INT64).type
    for other in VALUES:
      if not _has_type(other, declared):
        wrong[f"= {other!r}"] = {**others, name: other}
    for label, attributes in wrong.items():
      yield _with(f"{name} {label}", frame, attributes)
  if frame.attributes:  # XLA counts none where a handler takes none.
    more = {**frame.attributes, "unknown": np.int64(3)}
    yield _with("an attribute more", frame, more)


def _has_type(value, declared):
  if isinstance(declared, list):
    # Of an array without dimensions, XLA makes a span of one element.
    is_array = isinstance(value, np.ndarray) and value.ndim <= 1
    return is_array and value.dtype == declared[0]
  if declared in (bool, np.bool_):
    return isinstance(value, np.bool_)
  return isinstance(value, declared)


def attribute_values(target: Target, frame: Frame) -> Iterator[Wrong]:
  """Yields calls with an attribute out of its range."""
  op = target.call.op
  for name, value in frame.attributes.items():
    for bad in _bad_values(target, frame, name, value):
      message = f"{name} must .+, got "
      if name == "present":
        message = "present|operand|argument"
      elif name == "wanted":
        message = "wanted must .+, got "
      elif name in _dimensions(op):
        message = "|".join((*frame.results, name))
      elif name == "trailing_rank":
        message = "|".join((*frame.buffers, name))
      attributes = {**frame.attributes, name: bad}
      yield _with(f"{name} = {bad!r}", frame, attributes, message)


def _dimensions(op):
  return op.signature.result_names


def _bad_values(target, frame, name, value):
  if name == "present":
    yield from _bad_bits(target, int(value))
  elif name == "wanted":  # The results are those of the right bits.
    yield from (value ^ np.int64(1 << i) for i in (*range(8), 62))
  elif name in ("batch_rank", "trailing_rank"):
    # The loops of the call are fewer than this.
    far = max(len(b.shape) for b in frame.buffers.values()) + 1
    yield from map(np.int64, (-1, far, 2**62, -(2**63)))
  else:
    attribute = target.call.op.attributes[name]
    least, kind = attribute.minimum, np.asarray(value).dtype
    if name in _dimensions(target.call.op):
      yield from map(kind.type, (value + 1, -1))
    if np.ndim(value):
      return
    bad = []
    if least is not None:
      bad += [least - 1, *((least - 1e-9, -np.inf) if kind.kind == "f" else ())]
    if attribute.below is not None:
      bad += [attribute.below, attribute.below + 1]
    if bad and kind.kind == "f":
      bad.append(np.nan)
    yield from map(kind.type, bad)


def _bad_bits(target, bits):
  slots = target.call.declared.operands
  optional = target.call.declared.signature.optional
  required = sum(1 << i for i in range(len(slots)) if i not in optional)
  values = {0, -1, bits | 1 << len(slots), bits | 1 << 62, -(2**63) | bits}
  values |= {bits ^ 1 << i for i in range(len(slots))}
  for other in sorted(values - {bits}):
    known = other & required == required and 0 <= other < 1 << len(slots)
    if not known or other.bit_count() != bits.bit_count():
      yield np.int64(other)


def _with(
    label: str, frame: Frame, attributes: Mapping[str, Any], message: str = ""
) -> Wrong:
  return Wrong(
      label, dataclasses.replace(frame, attributes=attributes), message
  )
