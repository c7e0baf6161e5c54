# SPDX-License-Identifier: Apache-2.0
"""Measured lines, as JSON, and what tables and pictures ask of them."""

from collections.abc import Mapping
import json
import math
from typing import Any

LEVELS = {4: "AVX-512", 3: "AVX2", 1: "SSE2", 0: "no level"}
PASSES = ("forward", "backward", "both")
# Up to here, in bytes of an array, calls within a program are what counts.
IN_CACHE = 2**20

Line = Mapping[str, Any]  # measurement.Line, its setting and its name.
Document = Mapping[str, Any]


def as_json(document: Document) -> str:
  """Returns a document as JSON, with a line for each measured one."""

  def short(value):
    if isinstance(value, float):
      return float(f"{value:.4g}")
    if isinstance(value, Mapping):
      return {key: short(each) for key, each in value.items()}
    return [short(each) for each in value] if isinstance(value, list) else value

  about = {key: value for key, value in document.items() if key != "lines"}
  lines = ",\n".join(json.dumps(short(line)) for line in document["lines"])
  return f'{json.dumps(about, indent=1)[:-2]},\n "lines": [\n{lines}\n ]\n}}\n'


def best(line: Line, *families: str) -> float:
  """Returns the ratio of the fastest of these peers, or of all; maybe NaN.

  What follows a comma in a peer's name tells its form.
  """
  ratios = [
      ratio
      for name, ratio in line["peers"].items()
      if not families or name.split(",")[0] in families
  ]
  return min(ratios, default=math.nan)


def machine_of(document: Document) -> str:
  """Returns when and on what it was measured."""
  machine = document["machine"]
  return (
      f"{document['date']}, {machine['cores']} cores of {machine['processor']}"
  )


def about(document: Document) -> str:
  """Returns when, on what and with which versions it was measured."""
  versions = (f"{name} {x}" for name, x in document["versions"].items())
  return f"{machine_of(document)}; {', '.join(versions)}"


def full(document: Document) -> list[Line]:
  """Returns the lines of all threads and a clean heap."""
  cores = document["machine"]["cores"]
  return [
      line
      for line in document["lines"]
      if (line["threads"], line["heap"]) == (cores, "clean")
  ]


def levels(document: Document) -> list[int]:
  """Returns the levels that were measured, the highest first."""
  return sorted({line["level"] for line in document["lines"]}, reverse=True)
