# SPDX-License-Identifier: Apache-2.0
"""The files of an op: in this repository, and in a project that uses it."""

from collections.abc import Mapping
import pathlib
import re
import string

import cpp_code
from formula import Formula

_TEMPLATES = pathlib.Path(__file__).with_name("templates")
_LISTS = pathlib.PurePath("python/jax_ffi_ops/ops/BUILD.bazel")
_EXPORTS = pathlib.PurePath("python/jax_ffi_ops/__init__.py")
_ALIASES = "namespace ffi = xla::ffi;\nnamespace kit = xla_ffi_ops;\n\n"
# Of a test, but for the op's own.
_IMPORTS = """\
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand"""

Texts = dict[pathlib.PurePath, str]


def outside(name: str, formula: Formula, folder: pathlib.PurePath) -> Texts:
  """Returns the files of an op in its own folder of any workspace."""
  files = {
      "BUILD.bazel": "BUILD.bazel",
      "__init__.py": "__init__.py",
      f"{name}.h": "op.h",
      f"{name}.py": "op.py",
      f"{name}_ffi.cc": "op_ffi.cc",
      f"{name}_test.py": "op_test.py",
  }
  values = _values(name, formula) | dict(
      folder="",
      guard=f"{name}_H_".upper(),
      imports=f"{_IMPORTS}\nfrom {name} import {name}",
      namespace=f"{name}_ffi",
      prefix="",
      target=name,
  )
  return {folder / n: _filled(t, values) for n, t in files.items()}


def inside(
    name: str, formula: Formula, root: pathlib.Path
) -> tuple[Texts, Texts]:
  """Returns the new files of an op of this repository, and those to edit.

  Raises:
    ValueError: the files to edit are not as they were.
  """
  native = pathlib.PurePath("xla_ffi_ops/ops", name)
  tests = pathlib.PurePath("tests/ops", name)
  files = {
      native / "BUILD.bazel": "native.BUILD.bazel",
      native / f"{name}.h": "op.h",
      native / f"{name}_ffi.cc": "op_ffi.cc",
      _LISTS.with_name(f"{name}.py"): "op.py",
      tests / "BUILD.bazel": "tests.BUILD.bazel",
      tests / f"{name}_test.py": "op_test.py",
  }
  values = _values(name, formula) | dict(
      folder=f"{native}/",
      guard=re.sub(r"\W", "_", f"{native}/{name}_H_").upper(),
      imports=f"from jax_ffi_ops import {name}\n{_IMPORTS}",
      namespace=f"xla_ffi_ops::{name}",
      prefix=' prefix="xla_ffi_ops_",',
      target=f"xla_ffi_ops_{name}",
  )
  texts = {}
  for path, template in files.items():
    mark = "//" if path.suffix in (".cc", ".h") else "#"
    text = _filled(template, values)
    # Here the op is in the kit's namespace.
    text = text.replace(_ALIASES, "").replace("kit::", "")
    texts[path] = f"{mark} SPDX-License-Identifier: Apache-2.0\n{text}"
  lists = (root / _LISTS).read_text("utf-8")
  for argument in ("cpu_only", "forward_only"):
    lists = _with_entry(lists, argument, name)
  exports = (root / _EXPORTS).read_text("utf-8")
  begin, checked, end = exports.partition("if TYPE_CHECKING:\n")
  if not checked:
    raise ValueError(f"{_EXPORTS} has no line 'if TYPE_CHECKING:'.")
  line = f"  from jax_ffi_ops.ops.{name} import {name} as {name}\n"
  return texts, {_LISTS: lists, _EXPORTS: begin + checked + line + end}


def _with_entry(text, argument, name):
  """Returns a BUILD file with a name in a list that its macro gets."""
  found = re.search(rf"^    {argument} = \[([^\]]*)\],\n", text, re.MULTILINE)
  if not found:
    raise ValueError(f"{_LISTS} has no list {argument!r} to add {name!r} to.")
  names = sorted({*re.findall(r'"(\w+)"', found[1]), name})
  lines = "".join(f'        "{name}",\n' for name in names)
  new = f"    {argument} = [\n{lines}    ],\n"
  return text[: found.start()] + new + text[found.end() :]


def _filled(template: str, values: Mapping[str, object]) -> str:
  text = (_TEMPLATES / f"{template}.template").read_text("utf-8")
  return string.Template(text).substitute(values)


def _values(name: str, formula: Formula) -> dict[str, object]:
  """Returns what takes the placeholders in both layouts."""
  operands, results = list(formula.operands), list(formula.results)
  first, *others = operands
  same = (f'"{x}": "{first}"' for x in others)
  return cpp_code.values(formula) | dict(
      case=formula.case(),
      class_name="".join(word.title() for word in name.split("_")),
      definition="\n".join(
          f'  {y} = np.einsum("{formula.subscripts(y, "...")}",'
          f" {', '.join(operands)})"
          for y in results
      ),
      dtypes=", ".join([f'"{first}": kit.FLOATING', *same]),
      first=first,
      formula_in_words="\n".join(f"    {line}" for line in formula.in_words()),
      name=name,
      operand_shapes="\n".join(_shapes(formula.operands)),
      operands=", ".join(operands),
      reference="\n".join(
          f'  {y} = jnp.einsum("{formula.subscripts(y)}", *wide,'
          ' precision="highest")'
          for y in results
      ),
      results=", ".join(results),
      result_shapes="\n".join(_shapes(formula.results)),
      returns="tuple[jax.Array, ...]" if len(results) > 1 else "jax.Array",
      rounded=", ".join(f"{y}.astype({first}.dtype)" for y in results),
      signature=formula.signature,
      typed_operands=", ".join(f"{x}: jax.Array" for x in operands),
  )


def _shapes(cores):
  """Yields lines of a docstring."""
  for name, core in cores.items():
    yield f"    {name}: of shape [{', '.join(['...', *core])}]."
