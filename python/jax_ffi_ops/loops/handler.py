# SPDX-License-Identifier: Apache-2.0
"""The text of the C++ file: kernels, and handlers that choose among them."""

from collections.abc import Iterator, Sequence
import itertools
import textwrap

from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops.kernels import Array
from jax_ffi_ops.loops.kernels import Kernel


def text(op: Declaration, passes: dict[str, Sequence[Kernel]]) -> str:
  """Returns the file, given the kernels of each FFI target."""
  source = f"the reference of {op.name}: {op.signature}."
  lines = [f"// Written by the build from {source}", *_HEAD.splitlines()]
  for kernel in itertools.chain(*passes.values()):
    lines += _kernel(kernel)
  for own in passes.values():
    lines += _handler(op, own)
  lines += ["", "}  // namespace"]
  for target, own in passes.items():
    lines += _export(op, target, own)
  lines += ["", "}  // namespace xla_ffi_ops"]
  return "\n".join(map(_wrapped, lines)) + "\n"


_HEAD = """\
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/loops/blocks.h"
#include "xla_ffi_ops/loops/dot.h"
#include "xla_ffi_ops/vec/lanes/lane_halves.h"
#include "xla_ffi_ops/vec/lanes/lane_math.h"
#include "xla_ffi_ops/vec/lanes/lanes.h"

namespace xla_ffi_ops {
namespace {

using namespace lanes;  // NOLINT
using namespace std::string_view_literals;  // NOLINT
"""


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


def _element_bytes(kernel: Kernel) -> int:
  """Returns the size that decides how many lanes a vector has."""
  dtypes = [x.dtype for x in kernel.arrays]
  if any(map(cpp.is_float, dtypes)):
    return 8 if any(cpp.scalar(x) == "double" for x in dtypes) else 4
  return 8 if all(x.itemsize == 8 for x in dtypes) else 4


def _open(kernel: Kernel) -> list[str]:
  dims = dict.fromkeys(d for x in kernel.operands for d in x.dims)
  return [d for d in dims if d not in kernel.sizes and not d.isdigit()]


def _sizes(kernel: Kernel, source: str) -> list[str]:
  return [
      f"    [[maybe_unused]] const int64_t {cpp.variable(d)} = {source}[{i}];"
      for i, d in enumerate(_open(kernel))
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
      f"  static constexpr int kBytes = {_element_bytes(kernel)};",
      "",
      "  static int64_t Work(const std::vector<int64_t>& sizes) {",
      *(_sizes(kernel, "sizes") or ["    static_cast<void>(sizes);"]),
      f"    return {writer.work()};",
      "  }",
      "",
      "  template <int kLanes>",
      "  XLA_FFI_OPS_HD static void Run(const Block& block) {",
      "    XLA_FFI_OPS_LANE_TYPES(kBytes, kLanes);",
      *_sizes(kernel, "block.sizes"),
      *(_array("in", *x) for x in enumerate(kernel.operands)),
      *(_array("out", *x) for x in enumerate(kernel.results)),
  ]
  if writer.scratch:
    total = " + ".join(f"Bytes<{t}>({n})" for t, n, _ in writer.scratch)
    yield f"    Scratch scratch({total});"
  for ctype, n, name in writer.scratch:
    yield f"    {ctype}* const {name} = scratch.Take<{ctype}>({n});"
  yield from ["  " + line for line in writer.text()]
  yield from ["  }", "};"]


def _array(kind: str, i: int, array: Array) -> str:
  stored, vector = cpp.stored(array.dtype), cpp.vector(array.dtype)
  if array.shared:
    scalar = cpp.scalar(array.dtype)
    of = f"[[maybe_unused]] const SharedInput<{stored}, {scalar}>"
  else:
    name = {"in": "Input", "out": "Output"}[kind]
    of = f"const {name}<{stored}, {vector}, kLanes>"
  return f"    {of} {kind}{i}(block, {i});"


def _attributes(op: Declaration, backward: bool) -> dict[str, str]:
  """Returns the names and C++ types of what a handler has besides arrays."""
  types = {
      name: "std::string_view" if x.type is str else cpp.scalar(x.type)
      for name, x in op.attributes.items()
  }
  return types | ({"batch_rank": "int64_t"} if backward else {})


def _handler(op, kernels: Sequence[Kernel]) -> Iterator[str]:
  """Yields a handler that checks its buffers and picks a kernel."""
  first = kernels[0]
  attributes = _attributes(op, first.backward)
  parameters = [
      "CpuContext device",
      *(f"{ctype} value_{name}" for name, ctype in attributes.items()),
      "ffi::RemainingArgs operands",
      "ffi::RemainingRets results",
  ]
  yield from [
      "",
      f"HandlerResult {_name(kernels)}({', '.join(parameters)}) {{",
  ]
  dims = dict.fromkeys(d for x in first.arrays for d in x.dims)
  for d in dims:
    yield f"  Dim {cpp.variable(d)} = {d if d.isdigit() else 'kUnknownDim'};"

  def check(kind, array):
    core = ", ".join(f"&{cpp.variable(d)}" for d in array.dims)
    return f'  arrays.{kind}("{array.name}", {{{core}}});'

  choices = list(dict.fromkeys(map(_dtypes, kernels)))
  yield from [
      "  static const Choices dtypes = {",
      *(f"      {{{choice}}}," for choice in choices),
      "  };",
      "  Arrays arrays(operands, results, dtypes);",
      *(check("Operand", x) for x in first.operands),
      *["  arrays.BatchRank(value_batch_rank);"] * first.backward,
      *(check("Result", x) for x in first.results),
      "  if (!arrays.Done()) return arrays.error();",
  ]
  for kernel in kernels:
    tests = [f"{cpp.variable(d)} == {n}" for d, n in kernel.sizes.items()]
    tests += [
        f"value_{name} == {_literal(value, op.attributes[name].type)}"
        for name, value in kernel.attributes.items()
    ]
    tests.append(f"arrays.Have({choices.index(_dtypes(kernel))})")
    shared = [str(i) for i, x in enumerate(kernel.operands) if x.shared]
    yield from [
        f"  if ({' && '.join(tests)}) {{",
        f"    return RunBlocks<{kernel.name}>(device, arrays,"
        f" {{{', '.join(map(cpp.variable, _open(kernel)))}}},"
        f" {{{', '.join(shared)}}});",
        "  }",
    ]
  got = {d: cpp.variable(d) for d in dims if not d.isdigit()}
  got |= {name: f"value_{name}" for name in op.attributes}
  core = ", ".join(f'{{"{name}", Text({x})}}' for name, x in got.items())
  yield from [f"  return arrays.NoKernel({{{core}}});", "}"]


def _name(kernels: Sequence[Kernel]) -> str:
  return "Backward" if kernels[0].backward else "Forward"


def _dtypes(kernel: Kernel) -> str:
  return ", ".join(f"ffi::{cpp.ffi_type(x.dtype)}" for x in kernel.arrays)


def _literal(value, type_) -> str:
  return cpp.string(value) if type_ is str else cpp.literal(value, type_)


def _export(op, target: str, kernels: Sequence[Kernel]) -> Iterator[str]:
  yield from ["", f"XLA_FFI_OPS_DEFINE_HANDLER({target}, {_name(kernels)},"]
  for name, ctype in _attributes(op, kernels[0].backward).items():
    yield f'    .Attr<{ctype}>("{name}")'
  yield "    .RemainingArgs().RemainingRets());"
