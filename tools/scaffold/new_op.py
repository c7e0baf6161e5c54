# SPDX-License-Identifier: Apache-2.0
"""Writes a new op, which builds and passes its tests, for its author to edit.

  bazel run @xla_ffi_ops//tools:new_op -- my_op --signature "(n),(n)->()"

It begins as the einsum of its signature: here the dot product. In a checkout of
xla_ffi_ops the op becomes one of that repository. In any other workspace it is
a folder below the current one.

The scaffold writes neither optional operands ("?") nor trailing loops ("*"), no
multiples ("2h"), no result dimension that no operand has or that a result has
twice, and no backward handler: derivatives come from the reference.
docs/authoring.md explains them.
"""

import argparse
from collections.abc import Mapping, Sequence
import keyword
import os
import pathlib
import re
import sys

import files
from formula import Formula

# What an op's Python files import, and namespaces that its C++ uses.
_TAKEN = frozenset("""
    absl absltest ffi jax jax_ffi_ops jaxlib jnp kit load np numpy ops std
    testing xla xla_ffi_ops
""".split())


def _arguments(args):
  parser = argparse.ArgumentParser(
      prog="new_op",
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument("name", help="of the op and its files, as my_op")
  parser.add_argument(
      "--signature", required=True, help="as in NumPy: '(m,n),(n)->(m)'"
  )
  return parser.parse_args(args)


def _check_name(name):
  if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
    problem = "must be of a-z, 0-9 and single _, and begin with a letter"
  elif keyword.iskeyword(name):
    problem = "is a keyword of Python"
  elif name in _TAKEN | sys.stdlib_module_names:
    problem = "is a name that an op's files use for something else"
  else:
    return
  raise ValueError(f"The name {name!r} {problem}.")


def run(args: Sequence[str], environment: Mapping[str, str]) -> str:
  """Does what the command line says; returns what to tell the author.

  Args:
    args: the command line.
    environment: of `bazel run`.

  Raises:
    OSError, ValueError: an argument or the workspace is not as it has to be.
  """
  options = _arguments(args)
  name = options.name
  _check_name(name)
  formula = Formula(options.signature)
  if "BUILD_WORKSPACE_DIRECTORY" not in environment:
    raise ValueError("Run it by `bazel run`, in the workspace of the new op.")
  root = pathlib.Path(environment["BUILD_WORKSPACE_DIRECTORY"]).resolve()
  working = pathlib.Path(environment["BUILD_WORKING_DIRECTORY"]).resolve()
  if (root / "xla_ffi_ops/ops/op.bzl").is_file():
    new, edited = files.inside(name, formula, root)
    test = [
        f"./bazelw test //tests/ops/{name}:all",
        "./bazelw run //tools:format",
    ]
  elif working.is_relative_to(root):
    folder = working.relative_to(root) / name
    new, edited = files.outside(name, formula, folder), {}
    test = [f"bazel test //{folder}:all"]
  else:
    raise ValueError(f"{working} is outside of the workspace {root}.")
  for path in new:
    if os.path.lexists(root / path):
      raise FileExistsError(f"{path} is there already.")
  for path, text in (new | edited).items():
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, "utf-8")
  return "\n".join(
      [
          f"{name} computes {'; '.join(formula.in_words())}. Written:",
          *(f"  {path}" for path in (*new, *edited)),
          "Edit:",
          f"  {name}.h: the formula in C++",
          f"  {name}.py: the reference in jax.numpy, and the docstring",
          f"  {name}_test.py: the definition in NumPy, to test both",
          "Then:",
          *(f"  {command}" for command in test),
      ]
  )


if __name__ == "__main__":
  try:
    print(run(sys.argv[1:], os.environ))
  except (OSError, ValueError) as error:
    sys.exit(f"new_op: {error}")
