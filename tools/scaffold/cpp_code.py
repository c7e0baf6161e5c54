# SPDX-License-Identifier: Apache-2.0
"""The parts of the C++ files that follow from a signature."""

from collections.abc import Sequence
import re
import textwrap

from spec import Op


def _element(core: Sequence[str]) -> str:
  """Returns the index of an element of a row: "m * dims.n + n"."""
  index = ""
  for dim in core:
    row = index if index.isidentifier() else f"({index})"
    index = f"{row} * dims.{dim} + {dim}" if index else dim
  return index or "0"


def _loop(dim: str) -> str:
  return f"for (int64_t {dim} = 0; {dim} < dims.{dim}; ++{dim}) {{"


def dims(op: Op) -> str:
  if not op.dims:
    return ""
  return (
      "// The sizes of the core dimensions.\n"
      f"struct Dims {{\n  int64_t {', '.join(op.dims)};\n}};\n\n"
  )


def formula(op: Op, result: str, kit: str) -> str:
  """Returns the function that computes an element of a result."""
  terms = (f"Acc{{{x}[{_element(core)}]}}" for x, core in op.cores.items())
  product = " * ".join(terms)
  summed = op.summed(result)
  if summed:
    body = [
        "Acc sum = 0;",
        *map(_loop, summed),
        f"sum += {product};",
        *("}" for _ in summed),
        "return sum;",
    ]
  else:
    body = [f"return {product};"]
  uses = any("dims." in line for line in body)
  parameters = ["const Dims& dims" if uses else "const Dims&"][: len(op.dims)]
  parameters += [f"int64_t {dim}" for dim in op.results[result]]
  parameters += [f"const T* {x}" for x in op.cores]
  text = indent([f"using Acc = {kit}Accumulator<T>;", *body])
  return (
      f"// {op.formula(result)}\ntemplate <typename T>\n{kit}Accumulator<T>"
      f" {result.upper()}({', '.join(parameters)}) {{\n{text}\n}}\n"
  )


def signature(op: Op, kit: str) -> str:
  """Returns the handler up to its brace."""
  begin = f"{kit}HandlerResult Forward("
  parameters = [f"{kit}CpuContext device", *(f"Buffer {x}" for x in op.cores)]
  parameters += [f"Result {y}" for y in op.results]
  text = f"{begin}{', '.join(parameters)}) {{"
  # A no-break space keeps the words of a parameter together.
  text = re.sub(r"(?<!,) ", "\xa0", text)
  lines = textwrap.wrap(text, 80, subsequent_indent=" " * len(begin))
  return "\n".join(lines).replace("\xa0", " ")


def checks(op: Op, kit: str) -> str:
  """Returns the checks of a call, from the first operand to the last result."""
  unknown = ", ".join(f"{kit}kUnknownDim" for _ in op.dims)
  lines = [f"Dims dims = {{{unknown}}};"] if op.dims else []
  lines.append(f"{kit}Checks checks;")
  first = next(iter(op.cores))
  own = lambda core: "{" + ", ".join(f"&dims.{dim}" for dim in core) + "}"
  dtype = f"{kit}FloatDTypes()"
  for x, core in op.cores.items():
    lines.append(f'checks.Operand("{x}", {x}, {dtype}, {own(core)});')
    dtype = f"{first}.element_type()"
  dtype = f"{first}.element_type()"

  def add_map(name, buffer, core):
    lines.append(
        f"const {kit}RowMap {name}_map ="
        f' checks.Map("{name}", {buffer}, {len(core)});'
    )

  for x, core in op.cores.items():
    add_map(x, x, core)
  for y, core in op.results.items():
    lines.append(f'checks.Result("{y}", *{y}, {dtype}, {own(core)});')
    add_map(y, f"*{y}", core)
  return indent(lines)


def sizes(op: Op, kit: str) -> str:
  """Returns how many rows there are, and how large they are."""
  arrays = [(x, f"{x}.", core) for x, core in op.cores.items()]
  arrays += [(y, f"{y}->", core) for y, core in op.results.items()]
  lines = [
      f"const int64_t {name}_size ="
      f" {kit}Product({buffer}dimensions().last({len(core)}));"
      for name, buffer, core in arrays
      if core
  ]
  rows = f"{kit}Product(checks.loops())"
  if () not in op.results.values():
    lines.append(
        "// No elements are nothing to do, however many rows they have."
    )
    empty = " && ".join(f"{y}_size == 0" for y in op.results)
    rows = f"{empty} ? 0 : {rows}"
  return indent([*lines, f"const int64_t rows = {rows};"])


def views(op: Op, kit: str) -> str:
  """Returns the arrays as rows, and how many bytes a row of all of them is."""
  arrays = [(x, x, "const T", core) for x, core in op.cores.items()]
  arrays += [(y, f"*{y}", "T", core) for y, core in op.results.items()]
  lines = [
      f"const {kit}Rows<{element}> {name}_rows{{{kit}Data<{element}>({buffer}),"
      f" {f'{name}_size' if core else 1}, {name}_map}};"
      for name, buffer, element, core in arrays
  ]
  moved = " + ".join(
      "sizeof(T)" + f" * {name}_size" * bool(core)
      for name, _, _, core in arrays
  )
  return indent([*lines, f"const auto bytes = {moved};"], 2)


def loops(op: Op) -> str:
  """Returns what computes all results of a row."""
  lines = [f"const T* {x}_row = {x}_rows[row];" for x in op.cores]
  lines += [f"T* {y}_row = {y}_rows[row];" for y in op.results]
  for y, core in op.results.items():
    values = ["dims"] * bool(op.dims) + [*core, *(f"{x}_row" for x in op.cores)]
    lines += map(_loop, core)
    lines.append(
        f"{y}_row[{_element(core)}] = {y.upper()}({', '.join(values)});"
    )
    lines += "}" * len(core)
  return indent(lines, 4)


def binding(op: Op) -> str:
  """Returns what the handler decodes, a line for each array."""
  calls = [(".Arg<Buffer>()", x) for x in op.cores]
  calls += [(".Ret<Buffer>()", y) for y in op.results]
  lines = []
  for i, (call, name) in enumerate(calls):
    call = " " * (31 if i else 27) + call + ");" * (i == len(calls) - 1)
    lines.append(f"{call:<49}// {name}")
  return "\n".join(lines)


def indent(lines: Sequence[str], depth: int = 1) -> str:
  """Returns lines as a text, indented by the braces around them."""
  text = []
  for line in lines:
    depth -= line.startswith("}")
    text.append("  " * depth + line)
    depth += line.endswith("{")
  return "\n".join(text)
