# SPDX-License-Identifier: Apache-2.0
"""The lines of a kernel, its names and its buffers."""

import collections
from collections.abc import Iterator, Sequence
import contextlib
import re
from typing import Any

import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import values

# Smaller arrays are on the stack, larger ones in scratch memory: threads of
# XLA may have small stacks.
_STACK_ELEMENTS = 128
# g++ takes some seconds for each thousand lines, at each level of the CPU.
_MOST_LINES = 10_000


class Writer:
  """Collects the text of one kernel.

  Attributes:
    lines: of its body.
    constants: definitions of tables, which come before it.
    scratch: the types and sizes of buffers, and their names.
  """

  def __init__(self, prefix: str):
    self.lines: list[str] = []
    self.constants: list[str] = []
    self.scratch: list[tuple[str, str, str]] = []
    self._prefix = prefix
    self._tables: dict[str, str] = {}
    self._products: dict[str, cpp.Product] = {}
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

  def line(self, text: str, counts: int = 1) -> None:
    """Adds a line, which may count as more of them."""
    if self._comment != self._written:
      self._written = self._comment
      self.line(f"// {self._comment}")
    self.lines.append("  " * self._depth + text)
    self._lines_by_trips[self._trips] += counts
    if self._lines_by_trips.total() > _MOST_LINES:
      raise errors.Unsupported(f"a body of more than {_MOST_LINES} lines")

  @contextlib.contextmanager
  def block(self, head: str) -> Iterator[None]:
    self.line(head + " {")
    self._depth += 1
    outer, self._products = self._products, {}
    yield
    self._products = outer
    self._depth -= 1
    self._comment = self._written = ""
    self.line("}")

  @contextlib.contextmanager
  def loop(self, size: Any, letter: str = "i") -> Iterator[str]:
    i, trips = self.name(letter), self._trips
    with self.block(f"for (int64_t {i} = 0; {i} < {cpp.dim(size)}; ++{i})"):
      self._trips = (*trips, cpp.dim(size))
      yield i
    self._trips = trips

  @contextlib.contextmanager
  def loops(self, shape: Sequence[Any]) -> Iterator[list[str]]:
    """Goes over the indices of an array."""
    with contextlib.ExitStack() as stack:
      enter = lambda n: stack.enter_context(self.loop(n))
      yield ["0" if n == 1 else enter(n) for n in shape]

  def read_lines(self) -> list[str]:
    """Returns the lines without values that nobody reads: fused products."""
    read: set[str] = set()
    kept: list[str] = ["}"]
    for line in reversed(self.lines):
      found = re.match(r" *const \w+ (v\d+) = ", line)
      if found and found[1] not in read:
        continue
      if "// " in line and kept[-1].lstrip()[:2] in ("//", "}"):
        continue
      read.update(re.findall(r"\bv\d+\b", line))
      kept.append(line)
    return kept[:0:-1]

  def work(self) -> str:
    """Returns how many lines run, as an expression; a `while` runs once."""
    terms = [
        " * ".join([f"int64_t{{{lines}}}", *trips])
        for trips, lines in self._lines_by_trips.items()
    ]
    return " + ".join(terms) or "0"

  def variable(
      self, text: str, dtype: Any, lanes: bool, letter: str = "v", const=""
  ) -> str:
    name = self.name(letter)
    self.line(f"{const}{cpp.type_of(dtype, lanes)} {name} = {text};")
    return name

  def let(self, expression: str, dtype: Any, lanes: bool) -> str:
    name = self.variable(expression, dtype, lanes, const="const ")
    return self.named(name, expression)

  def named(self, name: str, expression: str) -> str:
    """Returns a name or a text of an expression, and keeps what it says."""
    if isinstance(expression, cpp.Product):
      self._products[name] = expression
    return name

  def sum(self, a: str, b: str, sign: str = "+") -> str:
    """Returns a + b or a - b of floats, where a product is not rounded."""
    # g++ finds what is computed twice only if it is written the same.
    if sign == "+":
      place = lambda x: (x in self._products, len(x), x)
      less, more = sorted((a, b), key=place)
    else:
      less, more = a, b
    minus = "-" if sign == "-" else ""
    if more in self._products:
      x, y = sorted(self._products[more].factors)
      return f"MulAdd({x}, {minus}{y}, {less})"
    if less in self._products:
      x, y = sorted(self._products[less].factors)
      return f"MulAdd({x}, {y}, {minus}{more})"
    return f"{a} {sign} {b}"

  def splat(self, expression: str, dtype: Any, lanes: bool = True) -> str:
    """Returns a uniform expression in all lanes, if it is asked to."""
    return f"Splat<{cpp.vector(dtype)}>({expression})" if lanes else expression

  def literal(self, value: Any, dtype: Any, lanes: bool) -> str:
    return self.splat(cpp.literal(value, dtype), dtype, lanes)

  def buffer(
      self, shape: Sequence[Any], dtype: Any, lanes: bool
  ) -> values.Memory:
    """Returns new memory, which holds anything."""
    name = self.name("a")
    ctype = cpp.type_of(dtype, lanes)
    size = cpp.size(shape)
    if isinstance(size, int) and size <= _STACK_ELEMENTS:
      self.line(f"{ctype} {name}[{max(size, 1)}];")
    else:
      self.scratch.append((ctype, cpp.dim(size), name))
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
      items = [cpp.literal(x, value.dtype) for x in value.array.ravel()]
    else:
      items = [
          self.let(value.at([str(i) for i in index]), value.dtype, value.lanes)
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

  def element(self, value: values.Value, index: Sequence[str], lanes: bool):
    """Returns an element of a value that is readable, per lane if asked."""
    return self.splat(value.at(index), value.dtype, lanes > value.lanes)

  def store(
      self, to: values.Memory, value: values.Value, mask: str | None = None
  ):
    """Writes a value to memory; with a mask, in those lanes alone."""

    def put(index, text, lanes):
      place = to.at(index)
      text = self.splat(text, to.dtype, to.lanes > lanes)
      if mask:
        text = f"Select({mask}, {text}, {place})"
      self.line(f"{place} = {text};")

    if isinstance(value, values.Scalars) or (
        isinstance(value, values.Constant) and values.is_small(value.shape)
    ):
      names = self.names_of(value)
      for index in np.ndindex(*value.shape):
        put([str(i) for i in index], names[index], value.lanes)
      return
    if isinstance(value, values.Constant) and values.is_zero(value):
      value = values.zeros(value.shape, value.dtype)
    value = self.readable(value)
    with self.loops(value.shape) as index:
      put(index, value.at(index), value.lanes)
