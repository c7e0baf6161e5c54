# SPDX-License-Identifier: Apache-2.0
"""Reads lock files, as uv and pip-compile write them."""

import dataclasses
import re
import sys

# Every pip carries it; interpreters themselves have no parser for markers.
from pip._vendor.packaging import requirements


def normalize(name):
  """Returns a package's name as its target is called."""
  return re.sub(r"[-_.]+", "_", name).lower()


@dataclasses.dataclass(frozen=True)
class Line:
  """What a lock says of one package: its name, the extras, and its text."""

  name: str
  extras: frozenset[str]
  text: str


def read(text):
  """Returns the lines of a lock that apply here, and its options.

  Args:
    text: of the lock file.

  Returns:
    A list of `Line`, and the lines that are options of pip (`--index-url`, say).
  """
  lines, options = [], []
  for raw in text.replace("\\\n", " ").splitlines():
    raw = " ".join(re.split(r"(?:^|\s)#", raw)[0].split())
    if raw.startswith(("-r", "-c", "--requirement", "--constraint")):
      sys.exit(f"A lock is one file; this one has `{raw}`.")
    if raw.startswith("-"):
      options.append(raw)
    elif raw:
      found = requirements.Requirement(raw.partition(" --")[0])
      if found.marker is None or found.marker.evaluate():
        name, extras = normalize(found.name), frozenset(found.extras)
        lines.append(Line(name, extras, raw))
  return lines, options
