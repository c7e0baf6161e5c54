# SPDX-License-Identifier: Apache-2.0
"""The values of a jaxpr while its C++ is written.

  Constant   a NumPy array
  Scalars    an expression for each element: moving them costs nothing
  Memory     a buffer with an offset and strides
  Lazy       an expression of an element's index, written where it is used
  Patch      zeros but in some places, to be added to another array

Each is the same in all lanes (uniform, a plain scalar of C++), or has an
element per lane (a vector).
"""

from collections.abc import Callable, Iterable, Sequence
import dataclasses
import enum
from typing import Any

import numpy as np

from jax_ffi_ops.loops import cpp

# Larger arrays are in memory, and loops go over them.
SMALL = 64


class Kind(enum.Enum):
  """What a buffer is."""

  OPERAND = enum.auto()  # Its lanes are rows, which are apart.
  COPY = enum.auto()  # Of an operand: all lanes of an element are a vector.
  RESULT = enum.auto()
  TABLE = enum.auto()  # A constant.
  OWN = enum.auto()  # An array of the kernel.


# These are plain pointers in C++.
POINTERS = (Kind.COPY, Kind.OWN)


@dataclasses.dataclass(frozen=True)
class Buffer:
  """Where a kernel has arrays; its name is that of a C++ variable."""

  name: str
  kind: Kind


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
  """An array.

  Attributes:
    shape: of one lane.
    dtype: of the elements.
    lanes: whether each lane has its own.
  """

  shape: tuple[Any, ...]
  dtype: np.dtype
  lanes: bool

  @property
  def size(self) -> Any:
    return cpp.size(self.shape)

  @property
  def reads(self) -> frozenset[Buffer]:
    """The buffers whose contents it is made of."""
    return frozenset()

  def is_in_place(self, to: "Memory") -> bool:
    """Returns whether each element needs, of `to`, only that at its place."""
    return to.buffer not in self.reads


@dataclasses.dataclass(frozen=True, eq=False)
class Constant(Value):
  array: np.ndarray

  @classmethod
  def of(cls, array: Any) -> "Constant":
    array = np.asarray(array)
    return cls(array.shape, array.dtype, False, array)


@dataclasses.dataclass(frozen=True, eq=False)
class Scalars(Value):
  names: np.ndarray  # of cpp.Code, with the value's shape

  @classmethod
  def of(cls, names: np.ndarray, dtype: Any, lanes: bool) -> "Scalars":
    return cls(names.shape, np.dtype(dtype), lanes, names)


@dataclasses.dataclass(frozen=True, eq=False)
class Memory(Value):
  """Elements of a buffer: that at i is in [offset + sum of strides * i]."""

  buffer: Buffer
  offset: cpp.Code
  strides: tuple[Any, ...]

  @classmethod
  def of(cls, buffer: Buffer, shape: Any, dtype: Any, lanes: bool) -> "Memory":
    shape = tuple(shape)
    return cls(
        shape, np.dtype(dtype), lanes, buffer, cpp.ZERO, cpp.strides(shape)
    )

  @property
  def reads(self) -> frozenset[Buffer]:
    return frozenset([self.buffer])

  def is_in_place(self, to: "Memory") -> bool:
    here, there = (
        (x.buffer, x.offset, [s for n, s in zip(x.shape, x.strides) if n != 1])
        for x in (self, to)
    )
    return super().is_in_place(to) or here == there

  @property
  def is_contiguous(self) -> bool:
    sides = zip(self.shape, self.strides, cpp.strides(self.shape))
    return all(n == 1 or stride == own for n, stride, own in sides)

  @property
  def is_whole(self) -> bool:
    """Whether it is its buffer from the first element on, in order."""
    return self.is_contiguous and self.place([]) == cpp.ZERO

  def place(self, index: Sequence[cpp.Code]) -> cpp.Code:
    terms = [cpp.product(s, i) for s, i in zip(self.strides, index)]
    return cpp.add(self.offset, *terms)

  def at(self, index: Sequence[cpp.Code]) -> cpp.Code:
    return cpp.code("{}[{}]", self.buffer.name, self.place(index))

  def view(self, shape, strides, offset=cpp.ZERO) -> "Memory":
    offset = cpp.add(self.offset, offset)
    return dataclasses.replace(
        self, shape=tuple(shape), strides=tuple(strides), offset=offset
    )

  def ordered(self, dims: Sequence[int]) -> "Memory":
    shape, strides = self.shape, self.strides
    return self.view([shape[d] for d in dims], [strides[d] for d in dims])

  def part(self, shape, starts, steps=None) -> "Memory":
    """Returns each of some steps along each dimension, from a start on."""
    terms = [cpp.product(s, cpp.dim(i)) for s, i in zip(self.strides, starts)]
    steps = steps or [1] * len(self.strides)
    strides = [s * step for s, step in zip(self.strides, steps)]
    return self.view(shape, strides, cpp.add(*terms))

  def row(self, index: cpp.Code) -> "Memory":
    """Returns the part at an index of the first dimension."""
    offset = cpp.product(self.strides[0], index)
    return self.view(self.shape[1:], self.strides[1:], offset)

  def places(self) -> np.ndarray:
    """Returns where the elements are in the buffer; all sizes are numbers."""
    found = np.zeros(self.shape, int)
    for stride, index in zip(self.strides, np.indices(self.shape)):
      found += stride * index
    return found + self.offset.number if found.size else found


@dataclasses.dataclass(frozen=True, eq=False)
class Lazy(Value):
  """An expression of an element's index.

  Attributes:
    element: the function.
    sources: the arrays that it reads.
    elementwise: whether it reads each of them at its own index alone.
    is_zero: whether all elements are known to be zeros.
  """

  element: Callable[[Sequence[cpp.Code]], cpp.Code]
  sources: Sequence[Value] = ()
  elementwise: bool = False
  is_zero: bool = False

  @property
  def reads(self) -> frozenset[Buffer]:
    return reads(self.sources)

  def is_in_place(self, to: Memory) -> bool:
    return super().is_in_place(to) or (
        self.elementwise and all(x.is_in_place(to) for x in self.sources)
    )

  def at(self, index: Sequence[cpp.Code]) -> cpp.Code:
    return self.element(index)


@dataclasses.dataclass(frozen=True, eq=False)
class Patch(Value):
  """What jax makes of the gradient of a part of an array.

  Attributes:
    write: writes those places of an array in memory; adds to what is there, if
      asked to.
    sources: the arrays that it is made of.
  """

  write: Callable[[Memory, bool], None]
  sources: Sequence[Value]

  @property
  def reads(self) -> frozenset[Buffer]:
    return reads(self.sources)

  def with_another(self, patch: "Patch") -> "Patch":
    """Returns the sum of two."""

    def write(out, adds):
      self.write(out, adds)
      patch.write(out, True)

    return dataclasses.replace(
        self,
        lanes=self.lanes or patch.lanes,
        write=write,
        sources=(*self.sources, *patch.sources),
    )


def reads(arrays: Iterable[Value]) -> frozenset[Buffer]:
  """Returns the buffers whose contents arrays are made of."""
  return frozenset().union(*(x.reads for x in arrays))


def zeros(shape: Sequence[Any], dtype: np.dtype) -> Lazy:
  zero = cpp.Code(cpp.literal(0, dtype))
  return Lazy(shape, dtype, False, lambda index: zero, is_zero=True)


def is_zero(x: Value) -> bool:
  """Returns whether all elements are known to be zeros, none of them -0.0."""
  if isinstance(x, Constant):
    return not any(x.array.tobytes())
  return isinstance(x, Lazy) and x.is_zero


def is_small(shape: Sequence[Any], most: int = SMALL) -> bool:
  """Returns whether an array of this shape is kept as Scalars."""
  size = cpp.size(shape)
  return isinstance(size, int) and size <= most


def objects(items: Sequence[Any], shape: Sequence[int]) -> np.ndarray:
  """Returns an array of Python objects."""
  array = np.empty(len(items), object)
  array[:] = items
  return array.reshape(shape)
