# SPDX-License-Identifier: Apache-2.0
"""Which files an op has: in this repository, and in a project that uses it."""

import dataclasses
import pathlib
import re

import entries
import python_code
from spec import Op
import texts

_SPDX = "SPDX-License-Identifier: Apache-2.0\n"


@dataclasses.dataclass
class Layout:
  """What is written for an op. Paths are relative to the workspace.

  Attributes:
    new: the text of each new file.
    edited: that of each file that is there already.
    edit: what the author goes on with, by file.
    test: the command that tests the op.
    note: what is not written, if there is more to say.
  """

  new: dict[pathlib.PurePath, str]
  edited: dict[pathlib.PurePath, str]
  edit: dict[pathlib.PurePath, str]
  test: str
  note: str = ""


def is_checkout(root: pathlib.Path) -> bool:
  """Returns whether a workspace is this repository."""
  return (root / "xla_ffi_ops/ops/op.bzl").is_file() and (
      root / entries.BUILD
  ).is_file()


def outside(op: Op, folder: pathlib.PurePath) -> Layout:
  """Returns the files of an op in its own folder of any workspace."""
  values = texts.values(op) | dict(
      cpp_license="",
      aliases="namespace ffi = xla::ffi;\nnamespace kit = xla_ffi_ops;\n\n",
      guard=f"{op.name}_H_".upper(),
      header=f"{op.name}.h",
      imports=texts.imports(op, f"from {op.name} import {op.name}"),
      header_kit="xla_ffi_ops::",
      kit="kit::",
      license="",
      namespace=f"{op.name}_ffi",
      prefix="",
      target=op.name,
  )
  files = {
      "BUILD.bazel": "BUILD.bazel",
      "__init__.py": "__init__.py",
      f"{op.name}.h": "op.h",
      f"{op.name}.py": "op.py",
      f"{op.name}_ffi.cc": "op_ffi.cc",
      f"{op.name}_test.py": "op_test.py",
  }
  new = {folder / n: texts.fill(op, t, values) for n, t in files.items()}
  module, header, test = (
      folder / (op.name + end) for end in (".py", ".h", "_test.py")
  )
  edit = _edit(op, header, module, test)
  return Layout(new, {}, edit, f"bazel test //{folder}:all")


def inside(op: Op, root: pathlib.Path) -> Layout:
  """Returns the files of an op of this repository, whose root is given."""
  native = pathlib.PurePath("xla_ffi_ops/ops", op.name)
  tests = pathlib.PurePath("tests/ops", op.name)
  header = native / f"{op.name}.h"
  module = entries.BUILD.with_name(f"{op.name}.py")
  test = tests / f"{op.name}_test.py"
  benchmark = pathlib.PurePath("benchmarks/ops", f"{op.name}.py")
  values = texts.values(op) | dict(
      cpp_license="// " + _SPDX,
      aliases="",
      guard=re.sub(r"\W", "_", f"{header}_").upper(),
      header=header,
      imports=texts.imports(op, f"from jax_ffi_ops import {op.name}"),
      header_kit="",
      kit="",
      license="# " + _SPDX,
      namespace=f"xla_ffi_ops::{op.name}",
      prefix='\n        prefix="xla_ffi_ops_",',
      target=f"xla_ffi_ops_{op.name}",
  )
  files = {
      native / "BUILD.bazel": "inside_native.BUILD.bazel",
      header: "op.h",
      native / f"{op.name}_ffi.cc": "op_ffi.cc",
      module: "op.py",
      tests / "BUILD.bazel": "inside_tests.BUILD.bazel",
      test: "op_test.py",
  }
  if python_code.is_of_rows(op):
    files[benchmark] = "benchmark.py"
    note = ""
  else:
    note = (
        "It has no benchmark: those here are for ops of rows, whose results"
        " have the shape of their first operand."
    )
  edited = {
      entries.BUILD: entries.with_names(
          (root / entries.BUILD).read_text("utf-8"),
          op.name,
          ("cpu_only", "forward_only"),
      ),
      entries.EXPORTS: entries.with_export(
          (root / entries.EXPORTS).read_text("utf-8"), op.name
      ),
  }
  new = {
      path: texts.fill(op, template, values) for path, template in files.items()
  }
  edit = _edit(op, header, module, test)
  return Layout(new, edited, edit, f"./bazelw test //{tests}:all", note)


def _edit(op, header, module, test):
  formulas = " and ".join(y.upper() for y in op.results)
  return {
      header: f"the formula in C++: {formulas}, and the comment on it",
      module: "the reference in jax.numpy: _reference, and the docstring",
      test: "the definition in NumPy, to test both: _definition",
  }
