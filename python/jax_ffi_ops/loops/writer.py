# SPDX-License-Identifier: Apache-2.0
"""The lines of a kernel, its names and its buffers."""

import collections
from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
from typing import Any

import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import values

# Smaller arrays are on the stack, larger ones in scratch memory: threads of
# XLA may have small stacks.
_STACK_ELEMENTS = 128
# g++ takes some seconds for each thousand lines, at each level of the CPU.
_MOST_LINES = 16_000


@dataclasses.dataclass(frozen=True)
class _Line:
  """A line of a kernel.

  Attributes:
    code: its text, and what it reads.
    depth: in how many blocks it is.
    defines: the constant that it defines, which somebody has to read.
    is_comment: whether it says where the next lines come from.
    is_end: whether it ends a block.
  """

  code: cpp.Code
  depth: int
  defines: str | None = None
  is_comment: bool = False
  is_end: bool = False


class Writer:
  """Collects the text of one kernel.

  Attributes:
    constants: definitions of tables, which come before it.
    headers: of C++ that it calls, besides those that all kernels include.
    scratch: the types and sizes of buffers, and their names.
  """

  def __init__(self, prefix: str):
    self.constants: list[str] = []
    self.headers: set[str] = set()
    self.scratch: list[tuple[str, str, str]] = []
    self._lines: list[_Line] = []
    self._prefix = prefix
    self._tables: dict[str, str] = {}
    self._products: dict[cpp.Code, cpp.Code] = {}
    self._count = 0
    self._depth = 1
    self._trips: tuple[str, ...] = ()
    self._lines_by_trips: collections.Counter = collections.Counter()
    self._comment = ""
    self._written = ""

  def name(self, letter: str) -> str:
    self._count += 1
    return f"{letter}{self._count}"

  def comment(self, text: str) -> None:
    """Says where the next lines come from."""
    self._comment = text

  def line(
      self,
      template: str,
      *parts: Any,
      counts: int = 1,
      defines: str | None = None,
  ) -> None:
    """Adds a line.

    Args:
      template: its text, with `{}` for each part.
      *parts: texts, and pieces of code.
      counts: as how many lines it counts.
      defines: a constant: the line is left out if nothing reads it.
    """
    if self._comment != self._written:
      self._written = self._comment
      self._add(cpp.Code(f"// {self._comment}"), is_comment=True)
    self._add(cpp.code(template, *parts), counts, defines=defines)

  def _add(self, code, counts=1, **options):
    self._lines.append(_Line(code, self._depth, **options))
    self._lines_by_trips[self._trips] += counts
    if self._lines_by_trips.total() > _MOST_LINES:
      raise errors.Unsupported(f"a body of more than {_MOST_LINES} lines")

  @contextlib.contextmanager
  def block(self, head: str, *parts: Any) -> Iterator[None]:
    self.line(head + " {{", *parts)
    self._depth += 1
    outer, self._products = self._products, {}
    yield
    self._products = outer
    self._depth -= 1
    self._comment = self._written = ""
    self._add(cpp.Code("}"), is_end=True)

  @contextlib.contextmanager
  def loop(self, size: Any, letter: str = "i") -> Iterator[cpp.Code]:
    i, trips, n = cpp.Code(self.name(letter)), self._trips, cpp.dim(size)
    with self.block("for (int64_t {} = 0; {} < {}; ++{})", i, i, n, i):
      self._trips = (*trips, n.text)
      yield i
    self._trips = trips

  @contextlib.contextmanager
  def repeated(self, sizes: Sequence[int]) -> Iterator[None]:
    """Counts lines as those of loops, which a function has inside."""
    trips, self._trips = self._trips, (*self._trips, *map(str, sizes))
    yield
    self._trips = trips

  @contextlib.contextmanager
  def loops(self, shape: Sequence[Any]) -> Iterator[list[cpp.Code]]:
    """Goes over the indices of an array."""
    with contextlib.ExitStack() as stack:
      enter = lambda n: stack.enter_context(self.loop(n))
      yield [cpp.ZERO if n == 1 else enter(n) for n in shape]

  def text(self) -> list[str]:
    """Returns the lines without constants that nobody reads: fused products."""
    read: set[str] = set()
    kept: list[_Line] = []
    ends = True  # Whether a block ends there, or other lines begin.
    for line in reversed(self._lines):
      if line.defines and line.defines not in read:
        continue
      if line.is_comment and ends:
        continue
      read |= line.code.reads
      kept.append(line)
      ends = line.is_comment or line.is_end
    return ["  " * x.depth + x.code.text for x in reversed(kept)]

  def work(self) -> str:
    """Returns how many lines run, as an expression; a `while` runs once."""
    terms = [
        " * ".join([f"int64_t{{{lines}}}", *trips])
        for trips, lines in self._lines_by_trips.items()
    ]
    return " + ".join(terms) or "0"

  def variable(
      self, start: cpp.Code, dtype: Any, lanes: bool, letter: str = "v"
  ) -> cpp.Code:
    name = self.name(letter)
    self.line("{} {} = {};", cpp.type_of(dtype, lanes), name, start)
    return cpp.Code(name)

  def let(self, value: cpp.Code, dtype: Any, lanes: bool) -> cpp.Code:
    """Returns the name of a constant."""
    name = self.name("v")
    ctype = cpp.type_of(dtype, lanes)
    self.line("const {} {} = {};", ctype, name, value, defines=name)
    return self.named(cpp.Code(name, frozenset([name])), value)

  def assign(self, to: cpp.Code, value: cpp.Code) -> None:
    self.line("{} = {};", to, value)

  def named(self, name: cpp.Code, value: cpp.Code) -> cpp.Code:
    """Returns a name of a value, of which sums see if it is a product."""
    if value.factors:
      self._products[name] = value
    return name

  def sum(self, a: cpp.Code, b: cpp.Code, sign: str = "+") -> cpp.Code:
    """Returns a + b or a - b of floats, where a product is not rounded."""
    text = lambda x: x.text
    # g++ finds what is computed twice only if it is written the same.
    if sign == "+":
      place = lambda x: (x in self._products, len(x.text), x.text)
      less, more = sorted((a, b), key=place)
    else:
      less, more = a, b
    minus = "-" if sign == "-" else ""
    if more in self._products:
      x, y = sorted(self._products[more].factors, key=text)
      return cpp.code("MulAdd({}, {}{}, {})", x, minus, y, less)
    if less in self._products:
      x, y = sorted(self._products[less].factors, key=text)
      return cpp.code("MulAdd({}, {}, {}{})", x, y, minus, more)
    return cpp.code("{} {} {}", a, sign, b)

  def splat(self, value: cpp.Code, dtype: Any, lanes: bool = True) -> cpp.Code:
    """Returns a uniform expression in all lanes, if it is asked to."""
    return (
        cpp.code("Splat<{}>({})", cpp.vector(dtype), value) if lanes else value
    )

  def literal(self, value: Any, dtype: Any, lanes: bool) -> cpp.Code:
    return self.splat(cpp.Code(cpp.literal(value, dtype)), dtype, lanes)

  def buffer(
      self, shape: Sequence[Any], dtype: Any, lanes: bool
  ) -> values.Memory:
    """Returns new memory, which holds anything."""
    name = self.name("a")
    ctype = cpp.type_of(dtype, lanes)
    size = cpp.size(shape)
    if isinstance(size, int) and size <= _STACK_ELEMENTS:
      self.line("{} {}[{}];", ctype, name, max(size, 1))
    else:
      self.scratch.append((ctype, cpp.dim(size).text, name))
    buffer = values.Buffer(name, values.Kind.OWN)
    return values.Memory.of(buffer, shape, dtype, lanes)

  def table(self, array: np.ndarray) -> values.Memory:
    """Returns a constant array."""
    array = np.asarray(array)
    elements = ", ".join(cpp.literal(x, array.dtype) for x in array.ravel())
    ctype = cpp.scalar(array.dtype)
    key = f"{ctype} {elements}"
    if key not in self._tables:
      name = f"k{self._prefix}{len(self._tables)}"
      self._tables[key] = name
      self.constants.append(
          f"constexpr {ctype} {name}[{max(array.size, 1)}] = {{{elements}}};"
      )
    buffer = values.Buffer(self._tables[key], values.Kind.TABLE)
    return values.Memory.of(buffer, array.shape, array.dtype, False)

  def names_of(self, value: values.Value) -> np.ndarray:
    """Returns the elements of a value as expressions, each written once."""
    if isinstance(value, values.Scalars):
      return value.names
    if isinstance(value, values.Constant):
      literal = lambda x: cpp.Code(cpp.literal(x, value.dtype))
      items = list(map(literal, value.array.ravel()))
    else:
      items = [
          self.let(
              value.at(list(map(cpp.dim, index))), value.dtype, value.lanes
          )
          for index in np.ndindex(*value.shape)
      ]
    return values.objects(items, value.shape)

  def names_in_lanes(self, value: values.Value, lanes: bool) -> np.ndarray:
    names, splats = self.names_of(value), lanes > value.lanes
    texts = [self.splat(x, value.dtype, splats) for x in names.ravel()]
    return values.objects(texts, names.shape)

  def picked(self, value: values.Value, places: np.ndarray) -> values.Scalars:
    """Returns the elements at places in a value, in the places' shape."""
    names = self.names_of(value).ravel()[places.ravel()]
    return values.Scalars.of(
        names.reshape(places.shape), value.dtype, value.lanes
    )

  def in_memory(self, value: values.Value) -> values.Memory:
    """Returns a value as memory, and copies it there if it is not."""
    if isinstance(value, values.Memory):
      return value
    if isinstance(value, values.Constant):
      return self.table(value.array)
    return self.copied(value, value.lanes)

  def copied(self, value: values.Value, lanes: bool) -> values.Memory:
    """Returns a copy of a value in new memory."""
    memory = self.buffer(value.shape, value.dtype, lanes)
    if isinstance(value, values.Patch):
      self.store(memory, values.zeros(value.shape, value.dtype))
      value.write(memory, False)
    else:
      self.store(memory, value)
    return memory

  def readable(self, value: values.Value) -> values.Memory | values.Lazy:
    """Returns a value whose elements can be read by index."""
    return value if isinstance(value, values.Lazy) else self.in_memory(value)

  def element(
      self, value: values.Value, index: Sequence[cpp.Code], lanes: bool
  ):
    """Returns an element of a value that is readable, per lane if asked."""
    return self.splat(value.at(index), value.dtype, lanes > value.lanes)

  def store(
      self, to: values.Memory, value: values.Value, mask: cpp.Code | None = None
  ):
    """Writes a value to memory; with a mask, in those lanes alone."""

    def put(index, text, lanes):
      place = to.at(index)
      text = self.splat(text, to.dtype, to.lanes > lanes)
      if mask:
        text = cpp.code("Select({}, {}, {})", mask, text, place)
      self.assign(place, text)

    if isinstance(value, values.Scalars) or (
        isinstance(value, values.Constant) and values.is_small(value.shape)
    ):
      names = self.names_of(value)
      for index in np.ndindex(*value.shape):
        put(list(map(cpp.dim, index)), names[index], value.lanes)
      return
    if isinstance(value, values.Constant) and values.is_zero(value):
      value = values.zeros(value.shape, value.dtype)
    value = self.readable(value)
    with self.loops(value.shape) as index:
      put(index, value.at(index), value.lanes)
