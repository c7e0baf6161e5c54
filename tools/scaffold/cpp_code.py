# SPDX-License-Identifier: Apache-2.0
"""The parts of the C++ files that follow from a formula.

A dimension m has the size n_m and the index i_m, since its own name may be a
macro or a keyword.
"""

from collections.abc import Iterator, Sequence

from formula import Formula


def parts(formula: Formula) -> list[str]:
  """Returns each, in a fixed order."""
  sizes = [f"n_{dim}" for dim in formula.dims]
  arrays = [f"const T* {x}" for x in formula.operands]
  arrays += [f"T* {y}" for y in formula.results]
  buffers = [
      "kit::CpuContext device",
      *(f"Buffer {x}" for x in formula.operands),
  ]
  buffers += [f"Result {y}" for y in formula.results]
  return [
      _call("void Compute", [f"int64_t {n}" for n in sizes] + arrays),
      _text(_statements(formula)),
      _call("kit::HandlerResult Forward", buffers),
      _text(_checks(formula)),
      _text(_sizes(formula)),
      _text(_rows(formula), 2),
      _call(
          "        Compute", sizes + [f"{x}_rows[row]" for x in formula.arrays]
      ),
      _decoded(formula),
  ]


def _text(lines, depth=1):
  return "\n".join(f"{'  ' * depth}{line}" for line in lines)


def _call(begin: str, arguments: Sequence[str]) -> str:
  """Returns begin(arguments), in lines of 80 columns."""
  lines = [f"{begin}("]
  for i, argument in enumerate(arguments):
    argument += ", " if i < len(arguments) - 1 else ")"
    # Behind it, there is " {" or ";".
    if i and len(lines[-1] + argument) > 79:
      lines.append(" " * (len(begin) + 1))
    lines[-1] += argument
  return "\n".join(line.rstrip() for line in lines)


def _statements(formula) -> Iterator[str]:
  """Yields the lines that compute the results of one core."""
  product = " * ".join(
      f"Acc{{{x}[{_index(core)}]}}" for x, core in formula.operands.items()
  )
  for comment, (y, core) in zip(formula.in_words(), formula.results.items()):
    element, total = f"{y}[{_index(core)}]", f"{y}_sum"
    body = [f"{element} = {product};"]
    if summed := formula.summed(y):
      body = [
          f"Acc {total} = 0;",
          *_loops(summed, [f"{total} += {product};"]),
          f"{element} = {total};",
      ]
    yield f"// {comment}"
    yield from _loops(core, body)


def _index(core):
  """Returns the index of an element of a core: "i_m * n_n + i_n"."""
  index = ""
  for dim in core:
    row = f"({index})" if " " in index else index
    index = f"{row} * n_{dim} + i_{dim}" if index else f"i_{dim}"
  return index or "0"


def _loops(dims, body):
  for dim in reversed(dims):
    loop = f"for (int64_t i_{dim} = 0; i_{dim} < n_{dim}; ++i_{dim}) {{"
    body = [loop, *(f"  {line}" for line in body), "}"]
  return body


def _checks(formula) -> Iterator[str]:
  """Yields the checks of a call, from the first operand to the last result."""
  for dim in formula.dims:
    size = int(dim) if dim.isdecimal() else "kit::kUnknownDim"
    yield f"kit::Dim n_{dim} = {size};"
  yield "kit::Checks checks;"
  dtype, (first, *_) = "kit::FloatDTypes()", formula.operands

  def check(kind, name, buffer, core):
    sizes = ", ".join(f"&n_{dim}" for dim in core)
    return f'checks.{kind}("{name}", {buffer}, {dtype}, {{{sizes}}});'

  for x, core in formula.operands.items():
    yield check("Operand", x, x, core)
    dtype = f"{first}.element_type()"
  for x, core in formula.operands.items():
    yield f'const kit::RowMap {x}_map = checks.Map("{x}", {x}, {len(core)});'
  for y, core in formula.results.items():
    yield check("Result", y, f"*{y}", core)
    yield f'const kit::RowMap {y}_map = checks.Map("{y}", *{y}, {len(core)});'


def _sizes(formula) -> Iterator[str]:
  """Yields how large a core of each array is, and how many there are."""
  for name, core in formula.arrays.items():
    buffer = f"{name}->" if name in formula.results else f"{name}."
    yield (
        f"const int64_t {name}_size ="
        f" kit::Product({buffer}dimensions().last({len(core)}));"
    )
  total = " + ".join(f"{y}_size" for y in formula.results)
  yield "// Results of no elements are nothing to do, however many there are."
  yield f"const int64_t rows = {total} == 0 ? 0 : kit::Product(checks.loops());"


def _rows(formula) -> Iterator[str]:
  """Yields the arrays as rows, and how many bytes a row of all of them is."""
  for name in formula.arrays:
    buffer, element = name, "const T"
    if name in formula.results:
      buffer, element = f"*{name}", "T"
    yield (
        f"const kit::Rows<{element}> {name}_rows{{"
        f"kit::Data<{element}>({buffer}), {name}_size, {name}_map}};"
    )
  total = " + ".join(f"{name}_size" for name in formula.arrays)
  yield f"const int64_t bytes = sizeof(T) * ({total});"


def _decoded(formula) -> str:
  """Returns what the handler gets, a line for each array."""
  calls = [(".Arg<Buffer>()", x) for x in formula.operands]
  calls += [(".Ret<Buffer>()", y) for y in formula.results]
  lines = []
  for i, (call, name) in enumerate(calls):
    call = " " * (31 if i else 27) + call + ");" * (i == len(calls) - 1)
    lines.append(f"{call:<49}// {name}")
  return "\n".join(lines)
