# SPDX-License-Identifier: Apache-2.0
"""An op's entries in files of this repository that are there already."""

from collections.abc import Sequence
import pathlib
import re

BUILD = pathlib.PurePath("python/jax_ffi_ops/ops/BUILD.bazel")
EXPORTS = pathlib.PurePath("python/jax_ffi_ops/__init__.py")


def natural(name: str) -> list[str | int]:
  """Returns a key that sorts as ruff does: x2 is before x10."""
  parts = re.split(r"(\d+)", name)
  return [int(part) if part.isdecimal() else part for part in parts]


def with_names(text: str, name: str, arguments: Sequence[str]) -> str:
  """Returns a BUILD file with a name in those lists of its macro's call."""
  for argument in arguments:
    found = re.search(rf"^    {argument} = \[([^\]]*)\],\n", text, re.MULTILINE)
    if not found:
      raise ValueError(f"{BUILD} has no list {argument!r} to add {name!r} to.")
    names = sorted({*re.findall(r'"(\w+)"', found[1]), name})
    lines = "".join(f'        "{n}",\n' for n in names)
    new = f"    {argument} = [\n{lines}    ],\n"
    text = text[: found.start()] + new + text[found.end() :]
  return text


def with_export(text: str, name: str) -> str:
  """Returns __init__.py with what a type checker reads of an op."""
  start = "  from jax_ffi_ops.ops."
  lines = text.splitlines(keepends=True)
  old = [i for i, line in enumerate(lines) if line.startswith(start)]
  if not old:
    raise ValueError(f"{EXPORTS} has no line {start.strip()!r} to add one to.")
  new = f"{start}{name} import {name} as {name}\n"
  if len(new) > 81:
    new = f"{start}{name} import (\n      {name} as {name},\n  )\n"
  key = lambda line: natural(line.split()[1])
  later = [i for i in old if key(lines[i]) > key(new)]
  end = old[-1]  # The last one's last line, if it has several.
  while lines[end].endswith(("(\n", ",\n")):
    end += 1
  lines.insert(later[0] if later else end + 1, new)
  return "".join(lines)
