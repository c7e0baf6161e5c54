# SPDX-License-Identifier: Apache-2.0
"""The text of the C++ file: kernels, and tables of what they are for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import itertools
import textwrap
import types

from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops.kernels import Array
from jax_ffi_ops.loops.kernels import Kernel


def text(
    op: Declaration,
    passes: Mapping[str, Sequence[Kernel]],
    macros: Mapping[str, str] = types.MappingProxyType({}),
) -> str:
  """Returns the file.

  Args:
    op: the declaration.
    passes: the kernels of each FFI target.
    macros: what kernel.h is to know, and its values.
  """
  kernels = list(itertools.chain(*passes.values()))
  headers = _HEADERS.union(*(x.writer.headers for x in kernels))
  includes = [f'#include "xla_ffi_ops/{x}"' for x in sorted(headers)]
  lines = [
      f"// Written from the reference of {op.name}: {op.signature}.",
      *(f"#define {name} {value}".rstrip() for name, value in macros.items()),
      *_HEAD.format(headers="\n".join(includes)).splitlines(),
  ]
  for kernel in kernels:
    lines += _kernel(kernel)
  for target, own in passes.items():
    lines += _table(op, target, own)
  lines += ["", "}  // namespace", "}  // namespace xla_ffi_ops", ""]
  for target, own in passes.items():
    table = f"xla_ffi_ops::{_name(own)}::kTable"
    lines.append(f"XLA_FFI_OPS_LOOPS_HANDLER({target}, {table});")
  return "\n".join(map(_wrapped, lines)) + "\n"


_HEAD = """\
#include <cstdint>
#include <limits>

{headers}

namespace xla_ffi_ops {{
namespace {{

using namespace lanes;  // NOLINT
"""
_HEADERS = frozenset(
    {
        "loops/dot.h",
        "loops/kernel.h",
        "vec/lanes/lane_halves.h",
        "vec/lanes/lane_math.h",
        "vec/lanes/lanes.h",
    }
)


def _wrapped(line: str) -> str:
  """Returns a line of C++ in lines of 80 columns."""
  if len(line) <= 80:
    return line
  indent = line[: len(line) - len(line.lstrip())]
  begin = indent + ("// " if line.lstrip().startswith("//") else "    ")
  return textwrap.fill(
      line,
      80,
      subsequent_indent=begin,
      break_long_words=False,
      break_on_hyphens=False,
  )


def _dimensions(kernels: Iterable[Kernel]) -> list[str]:
  """Returns the core dimensions of a handler, in order."""
  return list(
      dict.fromkeys(d for k in kernels for x in k.arrays for d in x.dims)
  )


def _sizes(kernel: Kernel, source: str) -> list[str]:
  return [
      f"    [[maybe_unused]] const int64_t {cpp.variable(d)} = {source}[{i}];"
      for i, d in enumerate(_dimensions([kernel]))
      if d not in kernel.core and not d.isdigit()
  ]


def _kernel(kernel: Kernel) -> Iterator[str]:
  writer = kernel.writer
  sizes = ", ".join(f"{d} = {n}" for d, n in kernel.core.items())
  arrays = ", ".join(
      f"{x.name} {x.dtype.name}[{', '.join(x.dims)}]" for x in kernel.operands
  )
  if writer.constants:
    yield from ["", *writer.constants]
  yield from [
      "",
      f"// {sizes or 'All sizes'}: {arrays}.",
      f"struct {kernel.name} {{",
      f"  static constexpr int kBytes = {kernel.element_bytes};",
      "",
      "  static int64_t Work([[maybe_unused]] const int64_t* sizes) {",
      *_sizes(kernel, "sizes"),
      f"    return {writer.work()};",
      "  }",
      "",
      "  template <int kLanes>",
      "  static int64_t Memory([[maybe_unused]] const int64_t* sizes) {",
      "    XLA_FFI_OPS_LANE_TYPES(kBytes, kLanes);",
      *_sizes(kernel, "sizes"),
      f"    return {_memory(writer.scratch)};",
      "  }",
      "",
      "  template <int kLanes>",
      "  XLA_FFI_OPS_HD static void Run(const Block& block) {",
      "    XLA_FFI_OPS_LANE_TYPES(kBytes, kLanes);",
      *_sizes(kernel, "block.sizes"),
  ]
  if writer.scratch or any(x.in_lanes for x in kernel.arrays):
    yield "    Scratch scratch(block);"
  yield from (_array("in", *x) for x in enumerate(kernel.operands))
  yield from (_array("out", *x) for x in enumerate(kernel.results))
  for ctype, n, name in writer.scratch:
    yield f"    {ctype}* const {name} = scratch.Take<{ctype}>({n});"
  yield from ["  " + line for line in writer.text()]
  yield from ["  }", "};"]


def _memory(scratch) -> str:
  if not scratch:
    return "0"
  return f"Total({', '.join(f'Bytes<{t}>({n})' for t, n, _ in scratch)})"


def _array(kind: str, i: int, array: Array) -> str:
  dtype = cpp.real(array.dtype)
  stored, vector = cpp.stored(dtype), cpp.vector(dtype)
  if array.in_lanes:
    of = {"in": "operands", "out": "results"}[kind]
    ctype = f"const {vector}" if kind == "in" else vector
    elements = f"Elements<{ctype}, kLanes>(block.{of}[{i}], block, &scratch)"
    return f"    {ctype}* const {kind}{i} = {elements};"
  if array.shared:
    scalar = cpp.scalar(dtype)
    of = f"[[maybe_unused]] const SharedInput<{stored}, {scalar}>"
  else:
    name = {"in": "Input", "out": "Output"}[kind]
    of = f"const {name}<{stored}, {vector}, kLanes>"
  return f"    {of} {kind}{i}(block, {i});"


def _name(kernels: Sequence[Kernel]) -> str:
  return "backward" if kernels[0].backward else "forward"


def _list(ctype: str, name: str, items: Iterable[str]) -> Iterator[str]:
  """Yields an array of constants, which is a List if it is empty."""
  items = list(items)
  if items:
    yield f"constexpr {ctype} {name}[] = {{{', '.join(items)}}};"
  else:
    yield f"constexpr List<{ctype}> {name};"


def _table(op, target: str, kernels: Sequence[Kernel]) -> Iterator[str]:
  """Yields the table of a handler, in a namespace of its own."""
  first, dims = kernels[0], _dimensions(kernels)
  sizes = [d if d.isdigit() else "kOpen" for d in dims]
  yield from ["", f"namespace {_name(kernels)} {{", ""]
  yield from _list(
      "Dimension", "kDimensions", map('{{"{}", {}}}'.format, dims, sizes)
  )
  for kind, arrays in [
      ("Operand", first.operands),
      ("Result", first.results),
  ]:
    for i, x in enumerate(arrays):
      core = (str(dims.index(d)) for d in x.dims)
      yield from _list("int", f"k{kind}{i}", core)
    yield from _list(
        "Declared",
        f"k{kind}s",
        (f'{{"{x.name}", k{kind}{i}}}' for i, x in enumerate(arrays)),
    )
  yield from _list(
      "Attribute",
      "kAttributes",
      (
          f'{{"{name}", {"kText" if x.type is str else cpp.ffi_type(x.type)}}}'
          for name, x in op.attributes.items()
      ),
  )
  for i, kernel in enumerate(kernels):
    yield from _entry(op, i, kernel, dims)
  entries = (
      f"{{kTypes{i}, kSizes{i}, kValues{i}, kShared{i}, kFromRows{i},"
      f" kToRows{i}, {k.name}::kBytes, kWidths<{k.name}>, {k.name}::Work,"
      f" Memory<{k.name}>, Run<{k.name}>}}"
      for i, k in enumerate(kernels)
  )
  yield from _list("Kernel", "kKernels", entries)
  backward = "true" if first.backward else "false"
  yield from [
      f'constexpr Table kTable = {{"{target}", {backward}, kDimensions,'
      " kOperands, kResults, kAttributes, kKernels};",
      "",
      f"}}  // namespace {_name(kernels)}",
  ]


def _entry(op, i, kernel, dims) -> Iterator[str]:
  """Yields what a table has of a kernel, but for its functions."""
  types = (cpp.ffi_type(x.dtype) for x in kernel.arrays)
  yield from _list("Type", f"kTypes{i}", types)
  sizes = (d if d.isdigit() else kernel.core.get(d, "kOpen") for d in dims)
  yield from _list("int64_t", f"kSizes{i}", map(str, sizes))
  values = []
  for j, (name, value) in enumerate(kernel.attributes.items()):
    own, type_ = f"kValue{i}_{j}", op.attributes[name].type
    if type_ is str:
      yield f"constexpr char {own}[] = {cpp.string(value)};"
      values.append(f"{{{own}, {len(value.encode())}}}")
    else:
      value = cpp.literal(value, type_)
      yield f"constexpr {cpp.scalar(type_)} {own} = {value};"
      values.append(f"{{&{own}, sizeof({own})}}")
  yield from _list("Value", f"kValues{i}", values)
  shared = (str(j) for j, x in enumerate(kernel.operands) if x.shared)
  yield from _list("int", f"kShared{i}", shared)
  for name, arrays in [
      ("kFromRows", kernel.operands),
      ("kToRows", kernel.results),
  ]:
    numbers = (str(j) for j, x in enumerate(arrays) if x.in_lanes)
    yield from _list("int", f"{name}{i}", numbers)
