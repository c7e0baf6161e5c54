# SPDX-License-Identifier: Apache-2.0
"""Writes a new op, which builds and passes its tests, for its author to edit.

  bazel run @xla_ffi_ops//tools:new_op -- my_op --signature "(n),(n)->()"

It begins as the einsum of its signature: here the dot product. In a checkout of
xla_ffi_ops the op becomes one of that repository. In any other workspace it is
a folder below the current one.

The scaffold writes neither optional operands ("?") nor trailing loops ("*"), no
result dimension that no operand has or that a result has twice, and no backward
handler: derivatives come from the reference. docs/authoring.md explains them.
"""

import argparse
from collections.abc import Mapping, Sequence
import os
import pathlib
import sys

import files
import layout
import spec


def _arguments(args):
  parser = argparse.ArgumentParser(
      prog="new_op",
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument("--tools", nargs=3, help=argparse.SUPPRESS)
  parser.add_argument("name", help="of the op and its files, as my_op")
  parser.add_argument(
      "--signature", required=True, help="as in NumPy: '(m,n),(n)->(m)'"
  )
  return parser.parse_args(args)


def planned(
    op: spec.Op, environment: Mapping[str, str]
) -> tuple[pathlib.Path, layout.Layout]:
  """Returns the workspace, and what is to be written there.

  Args:
    op: see above.
    environment: of `bazel run`.

  Raises:
    ValueError: there is no workspace, or something of that name.
  """
  if "BUILD_WORKSPACE_DIRECTORY" not in environment:
    raise ValueError("Run it by `bazel run`, in the workspace of the new op.")
  root = pathlib.Path(environment["BUILD_WORKSPACE_DIRECTORY"]).resolve()
  if layout.is_checkout(root):
    return root, layout.inside(op, root)
  working = pathlib.Path(environment["BUILD_WORKING_DIRECTORY"]).resolve()
  if not working.is_relative_to(root):
    raise ValueError(f"{working} is outside of the workspace {root}.")
  folder = working.relative_to(root) / op.name
  if os.path.lexists(root / folder):
    raise ValueError(f"{folder} is there already.")
  return root, layout.outside(op, folder)


def run(args: Sequence[str], environment: Mapping[str, str]) -> str:
  """Does what the command line says; returns what to tell the author.

  Raises:
    OSError, ValueError: an argument or the workspace is not as it has to be.
  """
  options = _arguments(args)
  op = spec.parse(options.name, options.signature)
  root, plan = planned(op, environment)
  new, edited = plan.new, plan.edited
  if options.tools:
    # Bazel starts us in the runfiles of its main repository.
    tools = [pathlib.Path.cwd().parent / tool for tool in options.tools]
    formatter = files.Formatter(*tools)
    new, edited = (files.formatted(x, formatter) for x in (new, edited))
  files.write(root, new, edited)
  lines = [f"{op.name} computes {'; '.join(op.formulas)}. Written:"]
  lines += [f"  {path}" for path in (*new, *edited)]
  lines += ["Edit:", *(f"  {path}: {what}" for path, what in plan.edit.items())]
  lines += ["Test:", f"  {plan.test}", *filter(None, [plan.note])]
  return "\n".join(lines)


if __name__ == "__main__":
  try:
    print(run(sys.argv[1:], os.environ))
  except (OSError, ValueError) as error:
    sys.exit(f"new_op: {error}")
