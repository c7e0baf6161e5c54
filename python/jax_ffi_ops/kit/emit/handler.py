# SPDX-License-Identifier: Apache-2.0
"""The text of the C++ file: kernels, and handlers that choose among them."""

from collections.abc import Sequence

from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.emit import cpp
from jax_ffi_ops.kit.emit.kernels import Array
from jax_ffi_ops.kit.emit.kernels import Kernel


def text(op: Declaration, passes: dict[str, Sequence[Kernel]]) -> str:
  """Returns the file, given the kernels of each FFI target."""
  parts = [
      f"// Written by the build from the reference of {op.name}:"
      f" {op.signature}.",
      _HEAD,
  ]
  parts += [_kernel(x) for kernels in passes.values() for x in kernels]
  parts += [_handler(*pair) for pair in passes.items()]
  parts.append("}  // namespace")
  parts += [_export(*pair) for pair in passes.items()]
  parts.append("}  // namespace xla_ffi_ops")
  return "\n".join(parts) + "\n"


_HEAD = """\
#include <cstdint>
#include <limits>
#include <vector>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/lanes/blocks.h"
#include "xla_ffi_ops/lanes/math.h"
#include "xla_ffi_ops/lanes/vectors.h"

namespace xla_ffi_ops {
namespace {

using namespace lanes;  // NOLINT
"""


def _element_bytes(kernel: Kernel) -> int:
  """Returns the size that decides how many lanes a vector has."""
  dtypes = [x.dtype for x in kernel.arrays]
  if any(map(cpp.is_float, dtypes)):
    return 8 if any(cpp.scalar(x) == "double" for x in dtypes) else 4
  return 8 if all(x.itemsize == 8 for x in dtypes) else 4


def _open(kernel: Kernel) -> list[str]:
  dims = dict.fromkeys(d for x in kernel.operands for d in x.dims)
  return [d for d in dims if d not in kernel.core and not d.isdigit()]


def _sizes(kernel: Kernel, source: str) -> list[str]:
  return [
      f"    [[maybe_unused]] const int64_t {d} = {source}[{i}];"
      for i, d in enumerate(_open(kernel))
  ]


def _kernel(kernel: Kernel) -> str:
  writer = kernel.writer
  sizes = ", ".join(f"{d} = {n}" for d, n in kernel.core.items())
  arrays = ", ".join(
      f"{x.name} {x.dtype.name}[{', '.join(x.dims)}]" for x in kernel.operands
  )
  vectors = sorted(
      (writer.dtypes | {"float32"}) - {"bool", "float16", "bfloat16"}
  )
  lines = [
      *writer.constants,
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
      "    using mask_v [[maybe_unused]] = Mask<kBytes, kLanes>;",
      *(
          f"    using {cpp.vector(name)} [[maybe_unused]] ="
          f" Vector<{cpp.scalar(name)}, kLanes>;"
          for name in vectors
      ),
      *_sizes(kernel, "block.sizes"),
      *(_array("in", *x) for x in enumerate(kernel.operands)),
      *(_array("out", *x) for x in enumerate(kernel.results)),
  ]
  if writer.scratch:
    sizes = [f"Bytes<{t}>({n})" for t, n, _ in writer.scratch]
    lines.append(f"    Scratch scratch({' + '.join(sizes)});")
  lines += [
      f"    {ctype}* const {name} = scratch.Take<{ctype}>({n});"
      for ctype, n, name in writer.scratch
  ]
  lines += ["  " + line for line in writer.lines]
  return "\n".join([*lines, "  }", "};", ""])


def _array(kind: str, i: int, array: Array) -> str:
  stored, vector = cpp.stored(array.dtype), cpp.vector(array.dtype)
  if array.shared:
    scalar = cpp.scalar(array.dtype)
    of = f"[[maybe_unused]] const SharedInput<{stored}, {scalar}>"
  else:
    name = {"in": "Input", "out": "Output"}[kind]
    of = f"const {name}<{stored}, {vector}, kLanes>"
  return f"    {of} {kind}{i}(block, {i});"


def _dtypes(kernels: Sequence[Kernel], i: int) -> str:
  """Returns the dtypes that an array may have, given those before it."""
  dtypes = lambda i: [kernel.arrays[i].dtype for kernel in kernels]
  first = kernels[0]
  for k in range(min(i, len(first.operands))):
    if dtypes(k) == dtypes(i):
      return f"{first.operands[k].name}_buffer.element_type()"
  names = dict.fromkeys(f"ffi::{cpp.ffi_type(x)}" for x in dtypes(i))
  return f"DTypes<{', '.join(names)}>()"


def _handler(target: str, kernels: Sequence[Kernel]) -> str:
  """Returns a handler that checks its buffers and picks a kernel.

  With the suffix, no name is a keyword of C++ or that of a dimension.
  """
  first = kernels[0]
  operands = len(first.operands)
  dims = dict.fromkeys(d for x in first.arrays for d in x.dims)
  names = [d for d in dims if not d.isdigit()]
  parameters = ["CpuContext device", *["int64_t batch_rank"] * first.backward]
  checks, arrays = [], []
  for i, x in enumerate(first.arrays):
    is_operand, buffer = i < operands, f"{x.name}_buffer"
    core = [f"&size_{d}" if d.isdigit() else f"&{d}" for d in x.dims]
    dtypes = f"{_dtypes(kernels, i)}, {{{', '.join(core)}}}"
    rank = len(x.dims)
    if is_operand:
      parameters.append(f"ffi::AnyBuffer {buffer}")
      checks.append(f'  checks.Operand("{x.name}", {buffer}, {dtypes});')
      arrays.append(f'  arrays.Operand("{x.name}", {buffer}, {rank});')
    else:
      parameters.append(f"ffi::Result<ffi::AnyBuffer> {buffer}")
      checks.append(f'  checks.Result("{x.name}", *{buffer}, {dtypes});')
      arrays.append(f"  arrays.Result(*{buffer}, {rank});")
  if first.backward:
    checks.insert(operands, "  checks.BatchRank(batch_rank);")
  known = ", ".join(f'{{"{d}", {d}}}' for d in names)
  return "\n".join(
      [
          f"HandlerResult {cpp.camel(target)}(",
          "    " + ", ".join(parameters) + ") {",
          *(f"  Dim {d} = kUnknownDim;" for d in names),
          *(f"  Dim size_{d} = {d};" for d in dims if d.isdigit()),
          "  Checks checks;",
          *checks,
          "  if (!checks.ok()) return checks.error();",
          "  Arrays arrays(checks);",
          *arrays,
          "  if (!checks.ok()) return checks.error();",
          *(_choice(first, kernel) for kernel in kernels),
          f"  return NoKernel(checks, {{{known}}});",
          "}",
          "",
      ]
  )


def _choice(first: Kernel, kernel: Kernel) -> str:
  tests = [f"{d} == {n}" for d, n in kernel.core.items()]
  for i, (own, x) in enumerate(zip(kernel.arrays, first.arrays)):
    access = "." if i < len(first.operands) else "->"
    ffi_type = f"ffi::{cpp.ffi_type(own.dtype)}"
    tests.append(f"{x.name}_buffer{access}element_type() == {ffi_type}")
  shared = [str(i) for i, x in enumerate(kernel.operands) if x.shared]
  return (
      f"  if ({' && '.join(tests)}) {{\n"
      f"    return RunBlocks<{kernel.name}>(device, arrays,"
      f" {{{', '.join(_open(kernel))}}}, {{{', '.join(shared)}}});\n"
      "  }"
  )


def _export(target: str, kernels: Sequence[Kernel]) -> str:
  first = kernels[0]
  bound = ['.Attr<int64_t>("batch_rank")'] * first.backward
  bound += [f".Arg<ffi::AnyBuffer>()  // {x.name}" for x in first.operands]
  bound += [f".Ret<ffi::AnyBuffer>()  // {x.name}" for x in first.results]
  # The last comment would hide the closing parenthesis.
  bound.append(bound.pop().split("  //")[0] + ");")
  body = "\n    ".join(bound)
  return (
      f"XLA_FFI_OPS_DEFINE_HANDLER(\n    {target}, {cpp.camel(target)},\n"
      f"    {body}\n"
  )
