# SPDX-License-Identifier: Apache-2.0
"""Draws docs/speeds.svg: the speed-ups that docs/measurements.md has.

bazel run //docs:speeds > docs/speeds.svg
"""

from collections.abc import Sequence
import math
import pathlib
import re

import chart

_PAGE = pathlib.Path(__file__).with_name("measurements.md")
_SORTS = """sort argsort partition argpartition lax_sort sort_key_val top_k
    median quantile nanquantile unique nonzero argmax histogram permutation"""
_SCANS = """cumsum cumprod cummax cummin cumlogsumexp linear_recurrence lfilter
    sosfilt gae solve_banded tridiagonal_solve spline_filter"""
_WIDTH, _LEFT, _BAR, _ROW = 840, 170, 200, 18  # Two columns of such bars.
_MOST = 200


def table(region: str) -> list[list[str]]:
  """Returns the rows of a region's table, of which the first is the head."""
  text = _PAGE.read_text("utf-8").partition(f"<!-- {region} -->")[2]
  lines = re.findall(r"(?m)^\| (.*) \|$", text.partition("<!-- /")[0])
  rows = [[cell.strip() for cell in line.split("|")] for line in lines]
  return [row for row in rows if not row[0].startswith("---")]


def numbers(cells: Sequence[str]) -> list[float]:
  """Returns the first speed-up of each cell that has one."""
  found = (re.match(r"([\d.]+)×", cell) for cell in cells)
  return [float(number[1]) for number in found if number]


def speed_ups(function: str) -> list[float]:
  """Returns the speed-ups of a function, on all machines."""
  rows = (x[3:] for x in table("functions") if x[1] == f"`{function}`")
  return numbers(next(rows, []))


def _panels() -> list[tuple[str, str, list[tuple[str, float]]]]:
  newest = {x[1].strip("`"): x[3] for x in table("functions")}
  functions = lambda names: [
      (name, *numbers([newest[name]])) for name in names.split()
  ]
  norms = [
      (row[0].strip("`"), numbers(row)[2])  # Forward and backward.
      for row in table("benchmarks: table")
      if row[2] == "float32"
  ]
  loops = [
      (row[0].split(",")[0], numbers(row)[-1])  # Its gradient, if it has one.
      for row in table("loops")
      if row[1] == "64"
  ]
  xeon = "Xeon, jax 0.12.0.1"
  return [
      ("Sorts and selections", xeon, functions(_SORTS)),
      ("Scans, filters and systems", xeon, functions(_SCANS)),
      ("Loops of your own", f"{xeon}, 64 rows", loops),
      ("Norms, with gradients", "Zen 4, jax 0.10.2, 16384x1024", norms),
  ]


def draw() -> str:
  """Returns the picture: two columns of bars, on a logarithmic scale."""
  places, tops = [], [44, 44]
  for panel in _panels():
    column = tops.index(min(tops))
    places.append((column * _WIDTH / 2, tops[column], panel))
    tops[column] += (len(panel[2]) + 2) * _ROW + 12
  parts = []
  for left, top, (name, where, bars) in places:
    parts.append(chart.text(left + 8, top + _ROW, name, "name"))
    parts.append(chart.text(left + _LEFT + 24, top + _ROW, where, "note"))
    for i, (label, value) in enumerate(bars):
      y = top + (i + 1) * _ROW + 8
      width = _BAR * math.log(value) / math.log(_MOST)
      parts.append(chart.text(left + _LEFT - 8, y + 12, label, "end"))
      parts.append(
          f'  <rect class="dot0" x="{left + _LEFT:.0f}" y="{y + 3}"'
          f' width="{width:.1f}" height="11"/>'
      )
      parts.append(
          chart.text(left + _LEFT + width + 6, y + 12, f"{value:g}×", "note")
      )
  title = "Speed-up over jax, on two cores"
  return chart.page(title, _WIDTH, max(tops), parts)


if __name__ == "__main__":
  print(draw(), end="")
