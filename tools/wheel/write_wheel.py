# SPDX-License-Identifier: Apache-2.0
"""Writes a wheel: write_wheel.py PLAN.json WHEEL.

The rule `wheel` makes the plan. The same files make the same bytes: names are
sorted, times and modes are fixed.
"""

import base64
import hashlib
import json
import pathlib
import re
import sys
from typing import Any
import zipfile

import symbol_versions

_TIME = (1980, 1, 1, 0, 0, 0)  # The first that a zip file can have.
_MODE = 0o100644 << 16

# A block of code, or a link or a picture that is a file beside the readme.
_CODE_OR_LINK = re.compile(
    r"(?ms)^```.*?^```$"
    r"|(?P<picture>!)?\[(?P<text>[^\]]*)\]\((?!#|\w+:)[^)\s]*\)"
)


def _description(readme):
  """Returns the readme without other files: links are plain text."""

  def plain(found):
    return "" if found["picture"] else found["text"] or found[0]

  return _CODE_OR_LINK.sub(plain, readme)


def _metadata(plan):
  """Returns the text of METADATA."""
  lines = [
      "Metadata-Version: 2.4",
      f"Name: {plan['distribution']}",
      f"Version: {plan['version']}",
      f"Summary: {plan['summary']}",
      f"License-Expression: {plan['license_expression']}",
      *(f"License-File: {name}" for name in plan["licenses"]),
      *(f"Classifier: {each}" for each in plan["classifiers"]),
      f"Requires-Python: {plan['requires_python']}",
      *(f"Requires-Dist: {each}" for each in plan["requires"]),
  ]
  for extra, requires in sorted(plan["extras"].items()):
    lines.append(f"Provides-Extra: {extra}")
    lines += [f'Requires-Dist: {x} ; extra == "{extra}"' for x in requires]
  lines.append("Description-Content-Type: text/markdown")
  readme = pathlib.Path(plan["readme"]).read_text("utf-8")
  return "\n".join(lines) + "\n\n" + _description(readme)


def _wheel(plan):
  """Returns the text of WHEEL."""
  return (
      "Wheel-Version: 1.0\n"
      "Generator: xla_ffi_ops\n"
      "Root-Is-Purelib: false\n"
      f"Tag: {plan['tag']}\n"
  )


def _record(contents, own):
  """Returns the text of RECORD, whose own line has no hash."""
  lines = []
  for name, content in contents.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    hashed = digest.decode().rstrip("=")
    lines.append(f"{name},sha256={hashed},{len(content)}\n")
  return "".join([*lines, f"{own},,\n"])


def write(plan: dict[str, Any], path: str) -> None:
  """Writes the wheel, or exits with what is wrong with its files.

  Args:
    plan: what the rule writes: see `_metadata`, and `files`, the path of each
      by its name in the wheel.
    path: of the wheel.
  """
  if not plan["files"]:
    sys.exit(
        f"{plan['label']} would be empty: none of the files of its deps is below"
        " its package. Put the target into the folder where your imports begin."
    )
  contents = {
      name: pathlib.Path(file).read_bytes()
      for name, file in sorted(plan["files"].items())
  }
  for name, content in contents.items():
    if name.endswith(".so"):
      for problem in symbol_versions.problems(content, plan["glibc"]):
        sys.exit(f"{name} is not for {plan['tag']}: {problem}")
  info = f"{plan['file_name']}.dist-info"
  contents[f"{info}/METADATA"] = _metadata(plan).encode()
  contents[f"{info}/WHEEL"] = _wheel(plan).encode()
  for name, file in plan["licenses"].items():
    contents[f"{info}/licenses/{name}"] = pathlib.Path(file).read_bytes()
  record = f"{info}/RECORD"
  contents[record] = _record(contents, record).encode()
  with zipfile.ZipFile(path, "w") as wheel:
    for name, content in contents.items():
      entry = zipfile.ZipInfo(name, _TIME)
      entry.create_system = 3  # Unix, wherever this runs.
      entry.external_attr = _MODE
      wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    sizes = {
        x.filename: x.compress_size
        for x in wheel.infolist()
        if x.filename.endswith(".so")
    }
  sizes["the wheel"] = pathlib.Path(path).stat().st_size
  for name, size in sizes.items():
    budget = plan["wheel_kb" if name == "the wheel" else "object_kb"]
    if size > budget * 1000:
      sys.exit(f"{name} has {size / 1000:.0f} kB, compressed: budget {budget}")


def main() -> None:
  plan, path = sys.argv[1:]
  write(json.loads(pathlib.Path(plan).read_text("utf-8")), path)


if __name__ == "__main__":
  main()
