# SPDX-License-Identifier: Apache-2.0
"""Writes a new op, which builds and passes its tests, for its author to edit.

  bazel run @xla_ffi_ops//tools:new_op -- my_op --dtypes=float32,float64

It begins as row_dot of this folder: the dot product of rows, with another name.
In a checkout of xla_ffi_ops the op becomes one of that repository. In any other
workspace it is a folder below the current one.
"""

import argparse
from collections.abc import Mapping, Sequence
import keyword
import os
import pathlib
import re
import sys

_TEMPLATE = pathlib.Path(__file__).with_name("row_dot")
_BACKWARD = re.compile(
    r"^ *(?://|#) --backward \{\n(.*?)^ *(?://|#) --backward \}\n", re.M | re.S
)
_CPP_TYPES = {
    "float16": "xla_ffi_ops::Float16",
    "bfloat16": "xla_ffi_ops::BFloat16",
    "float32": "float",
    "float64": "double",
}
# What an op's Python files import, and namespaces that its C++ uses.
_TAKEN = frozenset("""
    absl absltest ffi jax jax_ffi_ops jaxlib jnp kit load np numpy ops std
    testing xla xla_ffi_ops
""".split())

# In this repository, an op's files are in three folders.
_PYTHON = pathlib.PurePath("python/jax_ffi_ops")
_BUILD_FILES = {
    "xla_ffi_ops/ops/row_dot/BUILD.bazel": """\
load("//xla_ffi_ops/ops:op.bzl", "native_op")

native_op(name = "row_dot")
""",
    "tests/ops/row_dot/BUILD.bazel": """\
load("//tests/ops:op.bzl", "op_test")

op_test(
    name = "row_dot_test",
    cuda = False,
)
""",
}
_FOLDERS = {
    "row_dot.h": "xla_ffi_ops/ops/row_dot",
    "row_dot_ffi.cc": "xla_ffi_ops/ops/row_dot",
    "row_dot.py": str(_PYTHON / "ops"),
    "row_dot_test.py": "tests/ops/row_dot",
}
_HERE = {
    '"row_dot.h"': '"xla_ffi_ops/ops/row_dot/row_dot.h"',
    "ROW_DOT_H_": "XLA_FFI_OPS_OPS_ROW_DOT_ROW_DOT_H_",
    "namespace row_dot_ffi": "namespace xla_ffi_ops::row_dot",
    "namespace ffi = xla::ffi;\nnamespace kit = xla_ffi_ops;\n\n": "",
    "kit::": "",
    "HANDLER(row_dot": "HANDLER(xla_ffi_ops_row_dot",
    "import pathlib\n\n": "",
    "import kit\n": (
        "import kit\nfrom jax_ffi_ops.ops.common import libraries\n"
    ),
    'kit.Library(pathlib.Path(__file__).with_name("librow_dot_ext.so"))': (
        "libraries.beside(__file__)"
    ),
    "from row_dot import": "from jax_ffi_ops import",
}

Texts = dict[pathlib.PurePath, str]


def _replaced(text: str, new: Mapping[str, str]) -> str:
  for old in new:
    text = text.replace(old, new[old])
  return text


def _template(backward: bool, dtypes: Sequence[str]) -> dict[str, str]:
  """Returns the texts of row_dot, with what the options ask for."""
  types = ", ".join(_CPP_TYPES[dtype] for dtype in dtypes)
  new = {
      "xla_ffi_ops::FloatTypes": f"xla_ffi_ops::Types<{types}>",
      "=kit.FLOATING": "=" + str(tuple(dtypes)).replace("'", '"'),
      '    tags = ["slow"],\n': "",  # In the tests of this repository.
  }
  if len(dtypes) == len(_CPP_TYPES):
    del new["xla_ffi_ops::FloatTypes"], new["=kit.FLOATING"]
  if "float32" not in dtypes:
    new["Operand((8,)"] = f'Operand((8,), "{dtypes[0]}"'
  return {
      file.name: _replaced(
          _BACKWARD.sub(r"\1" if backward else "", file.read_text("utf-8")), new
      )
      for file in sorted(_TEMPLATE.iterdir())
      if file.is_file()
  }


def _inside(texts: Mapping[str, str]) -> Texts:
  """Returns the new files of an op of this repository."""
  found = {pathlib.PurePath(path): text for path, text in _BUILD_FILES.items()}
  for name, folder in _FOLDERS.items():
    found[pathlib.PurePath(folder, name)] = _replaced(texts[name], _HERE)
  for path, text in found.items():
    mark = "//" if path.suffix in (".cc", ".h") else "#"
    found[path] = f"{mark} SPDX-License-Identifier: Apache-2.0\n{text}"
  return found


def _renamed(texts: Texts, name: str) -> Texts:
  new = {
      "row_dot": name,
      "RowDot": name.title().replace("_", ""),
      "ROW_DOT": name.upper(),
  }
  return {
      pathlib.PurePath(_replaced(str(path), new)): _replaced(text, new)
      for path, text in texts.items()
  }


def _edited(name: str, root: pathlib.Path, backward: bool) -> Texts:
  """Returns the files of this repository that name every op."""
  lists, exports = _PYTHON / "ops/BUILD.bazel", _PYTHON / "__init__.py"
  found = {path: (root / path).read_text("utf-8") for path in (lists, exports)}

  def add(path, begin, new):
    """Adds it anywhere: //tools:format gives it its place."""
    if begin not in found[path]:
      raise ValueError(f"There is no {begin.strip()!r} to add {new!r} to.")
    found[path] = found[path].replace(begin, begin + new)

  for argument in ("cpu_only",) if backward else ("cpu_only", "forward_only"):
    add(lists, f"    {argument} = [", f'"{name}", ')
  line = f"  from jax_ffi_ops.ops.{name} import {name} as {name}\n"
  add(exports, "if TYPE_CHECKING:\n", line)
  return found


def _arguments(args):
  parser = argparse.ArgumentParser(
      prog="new_op",
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument("name", help="of the op and its files, as my_op")
  parser.add_argument(
      "--backward",
      action="store_true",
      help="with a handler for derivatives, which otherwise come from the"
      " reference",
  )
  parser.add_argument(
      "--dtypes",
      default=",".join(_CPP_TYPES),
      help="that the op takes, of %(default)s; by default all",
  )
  return parser.parse_args(args)


def _check(name: str, dtypes: Sequence[str]):
  if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
    problem = "must be of a-z, 0-9 and single _, and begin with a letter"
  elif keyword.iskeyword(name):
    problem = "is a keyword of Python"
  elif name in _TAKEN | sys.stdlib_module_names:
    problem = "is a name that an op's files use for something else"
  else:
    problem = ""
  if problem:
    raise ValueError(f"The name {name!r} {problem}.")
  if len(set(dtypes)) < len(dtypes) or not set(dtypes) <= set(_CPP_TYPES):
    raise ValueError(
        f"--dtypes must be some of {','.join(_CPP_TYPES)}, each once, got"
        f" {','.join(dtypes)!r}."
    )


def run(args: Sequence[str], environment: Mapping[str, str]) -> str:
  """Does what the command line says; returns what to tell the author.

  Args:
    args: the command line.
    environment: of `bazel run`.

  Raises:
    OSError, ValueError: an argument or the workspace is not as it has to be.
  """
  options = _arguments(args)
  name, dtypes = options.name, options.dtypes.split(",")
  _check(name, dtypes)
  if "BUILD_WORKSPACE_DIRECTORY" not in environment:
    raise ValueError("Run it by `bazel run`, in the workspace of the new op.")
  root = pathlib.Path(environment["BUILD_WORKSPACE_DIRECTORY"]).resolve()
  working = pathlib.Path(environment["BUILD_WORKING_DIRECTORY"]).resolve()
  texts = _template(options.backward, dtypes)
  if (root / "xla_ffi_ops/ops/op.bzl").is_file():
    new, edited = _inside(texts), _edited(name, root, options.backward)
    test = f"./bazelw test //tests/ops/{name}:all"
    more = ["  ./bazelw run //tools:format"]
  elif working.is_relative_to(root):
    folder = working.relative_to(root) / name
    new, edited = {folder / file: text for file, text in texts.items()}, {}
    test, more = f"bazel test //{folder}:all", []
  else:
    raise ValueError(f"{working} is outside of the workspace {root}.")
  new = _renamed(new, name)
  for path in new:
    if os.path.lexists(root / path):
      raise FileExistsError(f"{path} is there already.")
  for path, text in (new | edited).items():
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, "utf-8")
  return "\n".join(
      [
          f"{name} is a dot product, for you to edit. Written:",
          *(f"  {path}" for path in (*new, *edited)),
          "Edit:",
          f"  {name}.h: the formulas in C++",
          f"  {name}_ffi.cc: the handlers' operands and results",
          f"  {name}.py: signature, reference in jax.numpy, docstring",
          f"  {name}_test.py: operands, and the definition in NumPy",
          "Then:",
          f"  {test}",
          *more,
      ]
  )


if __name__ == "__main__":
  try:
    print(run(sys.argv[1:], os.environ))
  except (OSError, ValueError) as error:
    sys.exit(f"new_op: {error}")
