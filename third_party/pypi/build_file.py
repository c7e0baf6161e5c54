# SPDX-License-Identifier: Apache-2.0
"""Writes the BUILD file over unpacked wheels: what each has and requires."""

import email.parser
import json
import os
import pathlib
import re
import sys

import lock_file
from pip._vendor.packaging import requirements

_HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
"""Packages of a lock file, as pypi_install unpacked them."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_python//python:defs.bzl", "py_library")
load("{check}", "python_check")

package(default_visibility = ["//visibility:public"])

# An error, if programs do not run with the Python that all of this is for.
python_check(
    name = "python_check",
    python = "{python}",
    version = "{version}",
)
'''

# What no program imports: without it each test has a third fewer links to make.
_NOT_AT_RUN_TIME = re.compile(
    r"/(numpy|scipy)/(.*/)?tests/"
    r"|/(numpy|scipy|jaxlib)/.*(/include/|\.pyi$)"
    r"|\.dist-info/(RECORD$|licenses/|sboms/)"
)


def is_module(path):
  """Whether a file is Python source that programs may import."""
  return path.endswith(".py") and not _NOT_AT_RUN_TIME.search(path)


def _requires(files):
  """Returns what a wheel's METADATA says that it requires."""
  for file in files:
    if re.fullmatch(r"[^/]+/[^/]+\.dist-info/METADATA", file):
      text = pathlib.Path(file).read_text("utf-8")
      headers = email.parser.HeaderParser().parsestr(text)
      found = headers.get_all("Requires-Dist") or []
      return [requirements.Requirement(each) for each in found]
  return []


def _closure(name, requires, extras):
  """Returns all packages that `name` needs, itself included.

  Each target lists all of them, for packages may require each other in a circle
  and Bazel's targets may not.
  """
  seen = set()
  ahead = [(name, extra) for extra in ["", *extras.get(name, ())]]
  while ahead:
    package, extra = ahead.pop()
    if (package, extra) in seen:
      continue
    seen.add((package, extra))
    for requirement in requires[package]:
      other = lock_file.normalize(requirement.name)
      marker = requirement.marker
      wanted = marker is None or marker.evaluate({"extra": extra})
      if wanted and other in requires:
        more = ["", *requirement.extras, *extras.get(other, ())]
        ahead += [(other, each) for each in more]
  return sorted({package for package, _ in seen})


def _include_folders(files):
  """Returns the folders named `include` that a package has, none in another."""
  found = {
      file[: at.start()] + "/include"
      for file in files
      if (at := re.search(r"/include/", file))
  }
  return sorted(found)


def _rule(kind, **attributes):
  """Returns a rule's text; a list takes a line for each of its items."""
  lines = [f"\n{kind}("]
  for key, value in attributes.items():
    if isinstance(value, list):
      items = [f"        {json.dumps(item)}," for item in sorted(value)]
      lines += [f"    {key} = [", *items, "    ],"]
    else:
      lines += [f"    {key} = {json.dumps(value)},"]
  return "\n".join([*lines, ")\n"])


def text(packages, extras, check, python):
  """Returns the BUILD file's text.

  Args:
    packages: the files of each package, by its normalized name.
    extras: the extras that are wanted of it, likewise.
    check: label of the .bzl file that has `python_check`.
    python: label of the python.json of the Python that packages are for.

  Returns:
    The text, the same for the same arguments.
  """
  requires = {name: _requires(files) for name, files in packages.items()}
  version = "{}.{}".format(*sys.version_info)
  parts = [_HEAD.format(check=check, python=python, version=version)]
  for name, files in sorted(packages.items()):
    used = [file for file in files if not _NOT_AT_RUN_TIME.search(file)]
    parts.append(
        _rule(
            "py_library",
            name=f"_{name}",
            srcs=[file for file in used if file.endswith(".py")],
            data=[file for file in used if not file.endswith(".py")]
            + [":python_check"],
            imports=["site-packages"],
        )
    )
    needed = _closure(name, requires, extras)
    deps = [f":_{package}" for package in needed]
    parts.append(_rule("py_library", name=name, deps=deps))
    parts.append(_rule("filegroup", name=f"{name}_files", srcs=files))

    folders = _include_folders(files)
    if folders:
      parts.append(
          _rule(
              "cc_library",
              name=f"{name}_headers",
              hdrs=[file for file in files if file.endswith((".h", ".hpp"))],
              textual_hdrs=[file for file in files if file.endswith(".cpp")],
              includes=["site-packages", *folders],
          )
      )

    programs = [
        file
        for file in files
        if pathlib.PurePosixPath(file).parent.name == "bin"
        and os.access(file, os.X_OK)
    ]
    if programs:
      parts.append(_rule("filegroup", name=f"{name}_bin", srcs=programs))
      parts.append(_rule("exports_files", srcs=programs))
    for program in programs:
      short = "bin/" + pathlib.PurePosixPath(program).name
      if short != program:
        parts.append(_rule("alias", name=short, actual=program))
  return "".join(parts)
