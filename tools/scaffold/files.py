# SPDX-License-Identifier: Apache-2.0
"""The files of an op: those of row_dot, with the parts of another op."""

import pathlib
import re

import cpp_code
from formula import Formula

_TEMPLATE = pathlib.Path(__file__).with_name("row_dot")
_LISTS = pathlib.PurePath("python/jax_ffi_ops/ops/BUILD.bazel")
_EXPORTS = pathlib.PurePath("python/jax_ffi_ops/__init__.py")
_NATIVE = """\
load("//xla_ffi_ops/ops:op.bzl", "native_op")

native_op(name = "row_dot")
"""
_TESTS = """\
load("//tests/ops:op.bzl", "op_test")

op_test(
    name = "row_dot_test",
    cuda = False,
)
"""

Texts = dict[pathlib.PurePath, str]


def outside(name: str, formula: Formula, folder: pathlib.PurePath) -> Texts:
  """Returns the files of an op in its own folder of any workspace."""
  names = [path.name for path in _TEMPLATE.iterdir() if path.is_file()]
  texts = {name: _template(name) for name in sorted(names)}
  slow = '    tags = ["slow"],\n'  # In the tests of this repository.
  texts["BUILD.bazel"] = texts["BUILD.bazel"].replace(slow, "")
  paths = {n: folder / n.replace("row_dot", name) for n in texts}
  new = parts(name, formula)
  return {paths[n]: _with_parts(text, new) for n, text in texts.items()}


def inside(
    name: str, formula: Formula, root: pathlib.Path
) -> tuple[Texts, Texts]:
  """Returns the new files of an op of this repository, and those to edit.

  Raises:
    ValueError: the files to edit are not as they were.
  """
  native = pathlib.PurePath("xla_ffi_ops/ops", name)
  tests = pathlib.PurePath("tests/ops", name)
  texts = {
      native / "BUILD.bazel": _NATIVE,
      native / f"{name}.h": _template("row_dot.h"),
      native / f"{name}_ffi.cc": _template("row_dot_ffi.cc"),
      _LISTS.with_name(f"{name}.py"): _template("row_dot.py"),
      tests / "BUILD.bazel": _TESTS,
      tests / f"{name}_test.py": _template("row_dot_test.py"),
  }
  new = parts(name, formula, f"{native}/")
  for path, text in texts.items():
    mark = "//" if path.suffix in (".cc", ".h") else "#"
    text = _with_parts(text, new)
    # Here the op is in the kit's namespace.
    text = re.sub("namespace (ffi|kit) = .*\n\n?|kit::", "", text)
    texts[path] = f"{mark} SPDX-License-Identifier: Apache-2.0\n{text}"
  lists = (root / _LISTS).read_text("utf-8")
  for argument in ("cpu_only", "forward_only"):
    lists = _added(lists, f"    {argument} = [", f'"{name}", ')
  exports = _added(
      (root / _EXPORTS).read_text("utf-8"),
      "if TYPE_CHECKING:\n",
      f"  from jax_ffi_ops.ops.{name} import {name} as {name}\n",
  )
  return texts, {_LISTS: lists, _EXPORTS: exports}


def _added(text, begin, new):
  """Returns a text with something new; //tools:format gives it its place."""
  if begin not in text:
    raise ValueError(f"There is no {begin.strip()!r} to add {new!r} to.")
  return text.replace(begin, begin + new)


def _template(name):
  return (_TEMPLATE / name).read_text("utf-8")


def _with_parts(text, new):
  """Returns a text of row_dot with its parts replaced, the longest first."""
  new_of = dict(zip(parts("row_dot", Formula("(n),(n)->()")), new, strict=True))
  longest_first = sorted(new_of, key=len, reverse=True)
  pattern = "|".join(map(re.escape, longest_first))
  return re.sub(pattern, lambda found: new_of[found[0]], text)


def parts(name: str, formula: Formula, folder: str = "") -> list[str]:
  """Returns what an op's files have that others do not, in a fixed order.

  Args:
    name: of the op.
    formula: see above.
    folder: of the C++, for an op of this repository.
  """
  operands, results = list(formula.operands), list(formula.results)
  first, *others = operands
  listed = ", ".join(operands)
  same = (f'"{x}": "{first}"' for x in others)
  return [
      name,
      "".join(word.title() for word in name.split("_")),
      re.sub(r"\W", "_", f"{folder}{name}_H_").upper(),
      f'#include "{folder}{name}.h"',
      f"namespace xla_ffi_ops::{name}" if folder else f"namespace {name}_ffi",
      f"DEFINE_HANDLER({'xla_ffi_ops_' * bool(folder)}{name}",
      '_ext.so"),' + ' prefix="xla_ffi_ops_",' * bool(folder),
      f"from {'jax_ffi_ops' if folder else name} import {name}\n",
      *cpp_code.parts(formula),
      str(formula.signature),
      first,
      listed,
      ", ".join(f"{x}: jax.Array" for x in operands),
      "-> jax.Array:" if len(results) == 1 else "-> tuple[jax.Array, ...]:",
      ", ".join([f'"{first}": kit.FLOATING', *same]),
      "\n".join(f"    {line}" for line in formula.in_words()),
      _shapes(formula.operands),
      _shapes(formula.results),
      "\n".join(
          f'  {y} = jnp.einsum("{formula.subscripts(y)}", *wide,'
          ' precision="highest")'
          for y in results
      ),
      ", ".join(f"{y}.astype({first}.dtype)" for y in results),
      "\n".join(
          f'  {y} = np.einsum("{formula.subscripts(y, "...")}", {listed})'
          for y in results
      ),
      f"return {', '.join(results)}\n",
      formula.case(),
  ]


def _shapes(cores):
  """Returns lines of a docstring."""
  return "\n".join(
      f"    {name}: of shape [{', '.join(['...', *core])}]."
      for name, core in cores.items()
  )
