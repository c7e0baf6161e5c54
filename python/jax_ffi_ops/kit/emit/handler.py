# SPDX-License-Identifier: Apache-2.0
"""The text of the C++ file: kernels, and handlers that choose among them."""

from collections.abc import Sequence

from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.emit import cpp
from jax_ffi_ops.kit.emit.kernels import Kernel


def text(op: Declaration, passes: dict[str, Sequence[Kernel]]) -> str:
  """Returns the file.

  Args:
    op: the declaration.
    passes: from FFI targets to the kernels of each.
  """
  parts = [
      f"// Written by the build from the reference of {op.name}:"
      f" {op.signature}.",
      _HEAD,
  ]
  for kernels in passes.values():
    parts += map(_kernel, kernels)
  for target, kernels in passes.items():
    parts.append(_handler(target, kernels))
  parts.append("}  // namespace")
  for target, kernels in passes.items():
    parts.append(_export(target, kernels[0]))
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


def _describe(kernel: Kernel) -> str:
  sizes = ", ".join(f"{d} = {n}" for d, n in kernel.core.items())
  arrays = ", ".join(
      f"{x.name} {x.dtype.name}[{', '.join(x.dims)}]" for x in kernel.operands
  )
  return f"// {sizes or 'All sizes'}: {arrays}."


def _element_bytes(kernel: Kernel) -> int:
  """Returns the size that decides how many lanes a vector has."""
  arrays = [*kernel.operands, *kernel.results]
  wide = any(cpp.scalar(x.dtype) == "double" for x in arrays)
  if not any(cpp.is_float(x.dtype) for x in arrays):
    wide = all(x.dtype.itemsize == 8 for x in arrays)
  return 8 if wide else 4


def _open(kernel: Kernel) -> list[str]:
  dims = dict.fromkeys(d for x in kernel.operands for d in x.dims)
  return [d for d in dims if d not in kernel.core and not d.isdigit()]


def _sizes(kernel: Kernel, source: str) -> list[str]:
  lines = [
      f"    [[maybe_unused]] const int64_t {d} = {source}[{i}];"
      for i, d in enumerate(_open(kernel))
  ]
  return lines or ["    static_cast<void>(sizes);"] * (source == "sizes")


def _kernel(kernel: Kernel) -> str:
  writer = kernel.writer
  lines = [*writer.constants, "", _describe(kernel)]
  lines += [
      f"struct {kernel.name} {{",
      f"  static constexpr int kBytes = {_element_bytes(kernel)};",
      "",
      "  static int64_t Work(const std::vector<int64_t>& sizes) {",
      *_sizes(kernel, "sizes"),
      f"    return {writer.work()};",
      "  }",
      "",
      "  template <int kLanes>",
      "  XLA_FFI_OPS_HD static void Run(const Block& block) {",
      "    using mask_v [[maybe_unused]] = Mask<kBytes, kLanes>;",
  ]
  for name in sorted(writer.dtypes | {"float32"}):
    if name != "bool" and name not in ("float16", "bfloat16"):
      alias = cpp.vector(name)
      lines.append(
          f"    using {alias} [[maybe_unused]] ="
          f" Vector<{cpp.scalar(name)}, kLanes>;"
      )
  lines += _sizes(kernel, "block.sizes")
  for i, x in enumerate(kernel.operands):
    if x.shared:
      lines.append(
          f"    [[maybe_unused]] const SharedInput<{cpp.stored(x.dtype)},"
          f" {cpp.scalar(x.dtype)}> in{i}(block, {i});"
      )
    else:
      lines.append(
          f"    const Input<{cpp.stored(x.dtype)}, {cpp.vector(x.dtype)}, kLanes>"
          f" in{i}(block, {i});"
      )
  for i, x in enumerate(kernel.results):
    lines.append(
        f"    const Output<{cpp.stored(x.dtype)}, {cpp.vector(x.dtype)}, kLanes>"
        f" out{i}(block, {i});"
    )
  if writer.scratch:
    sizes = [f"Bytes<{t}>({n})" for t, n, _ in writer.scratch]
    lines.append(f"    Scratch scratch({' + '.join(sizes)});")
  for ctype, n, name in writer.scratch:
    lines.append(f"    {ctype}* const {name} = scratch.Take<{ctype}>({n});")
  lines += ["  " + line for line in writer.lines]
  lines += ["  }", "};", ""]
  return "\n".join(lines)


def _dtypes(kernels: Sequence[Kernel], kind: str, i: int) -> str:
  """Returns the dtypes that an array may have, given those before it."""
  own = [getattr(kernel, kind)[i].dtype for kernel in kernels]
  for k, x in enumerate(
      kernels[0].operands[: None if kind == "results" else i]
  ):
    if own == [kernel.operands[k].dtype for kernel in kernels]:
      return f"{x.name}_buffer.element_type()"
  names = dict.fromkeys(f"ffi::{cpp.ffi_type(dtype)}" for dtype in own)
  return f"DTypes<{', '.join(names)}>()"


def _handler(target: str, kernels: Sequence[Kernel]) -> str:
  """Returns a handler that checks its buffers and picks a kernel.

  With the suffix, no name is a keyword of C++ or that of a dimension.
  """
  first = kernels[0]
  dims = dict.fromkeys(
      d for x in [*first.operands, *first.results] for d in x.dims
  )
  lines = [f"HandlerResult {cpp.camel(target)}("]
  parameters = ["CpuContext device"]
  parameters += ["int64_t batch_rank"] * first.backward
  parameters += [f"ffi::AnyBuffer {x.name}_buffer" for x in first.operands]
  parameters += [
      f"ffi::Result<ffi::AnyBuffer> {x.name}_buffer" for x in first.results
  ]
  lines.append("    " + ", ".join(parameters) + ") {")
  for d in dims:
    if not d.isdigit():
      lines.append(f"  Dim {d} = kUnknownDim;")
  for d in dims:
    if d.isdigit():
      lines.append(f"  Dim size_{d} = {d};")

  def core(x):
    return ", ".join(f"&size_{d}" if d.isdigit() else f"&{d}" for d in x.dims)

  lines.append("  Checks checks;")
  for i, x in enumerate(first.operands):
    lines.append(
        f'  checks.Operand("{x.name}", {x.name}_buffer,'
        f" {_dtypes(kernels, 'operands', i)}, {{{core(x)}}});"
    )
  if first.backward:
    lines.append("  checks.BatchRank(batch_rank);")
  for i, x in enumerate(first.results):
    lines.append(
        f'  checks.Result("{x.name}", *{x.name}_buffer,'
        f" {_dtypes(kernels, 'results', i)}, {{{core(x)}}});"
    )
  lines += [
      "  if (!checks.ok()) return checks.error();",
      "  Arrays arrays(checks);",
  ]
  for x in first.operands:
    lines.append(
        f'  arrays.Operand("{x.name}", {x.name}_buffer, {len(x.dims)});'
    )
  for x in first.results:
    lines.append(f"  arrays.Result(*{x.name}_buffer, {len(x.dims)});")
  lines.append("  if (!checks.ok()) return checks.error();")
  for kernel in kernels:
    tests = [f"{d} == {n}" for d, n in kernel.core.items()]
    for own, x in zip(kernel.operands, first.operands):
      tests.append(
          f"{x.name}_buffer.element_type() == ffi::{cpp.ffi_type(own.dtype)}"
      )
    for own, x in zip(kernel.results, first.results):
      tests.append(
          f"{x.name}_buffer->element_type() == ffi::{cpp.ffi_type(own.dtype)}"
      )
    shared = [str(i) for i, x in enumerate(kernel.operands) if x.shared]
    lines += [
        f"  if ({' && '.join(tests)}) {{",
        f"    return RunBlocks<{kernel.name}>(device, arrays,"
        f" {{{', '.join(_open(kernel))}}}, {{{', '.join(shared)}}});",
        "  }",
    ]
  lines += [
      "  return NoKernel(checks, {"
      + ", ".join(f'{{"{d}", {d}}}' for d in dims if not d.isdigit())
      + "});",
      "}",
      "",
  ]
  return "\n".join(lines)


def _export(target: str, kernel: Kernel) -> str:
  arguments = ['.Attr<int64_t>("batch_rank")'] * kernel.backward
  arguments += [f".Arg<ffi::AnyBuffer>()  // {x.name}" for x in kernel.operands]
  arguments += [f".Ret<ffi::AnyBuffer>()  // {x.name}" for x in kernel.results]
  # The last comment would hide the closing parenthesis.
  last = arguments.pop().split("  //")[0] + ");"
  body = "\n    ".join([*arguments, last])
  return (
      f"XLA_FFI_OPS_DEFINE_HANDLER(\n    {target}, {cpp.camel(target)},\n"
      f"    {body}\n"
  )
