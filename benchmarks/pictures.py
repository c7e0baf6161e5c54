# SPDX-License-Identifier: Apache-2.0
"""All files of a document, with pictures: speed-up and share of a copy."""

from collections.abc import Callable
import json
import math
import statistics

import chart
import document
from document import Document
from document import Line
import tables

PAGE = "docs/measurements.md"
_NOT_DRAWN = ("float16",)


def _bytes(value: float) -> str:
  power = math.log2(value) // 10
  return f"{value / 1024**power:.0f} {('B', 'KiB', 'MiB', 'GiB')[int(power)]}"


def _times(value: float) -> str:
  return f"{value:g}×" if value >= 1 else f"1/{1 / value:g}×"


def _panels(lines, levels, value: Callable[[Line], float]):
  """Returns titles and lines of the panels, with means of sizes as large."""
  found = {}
  for line in lines:
    way = "program" if line["bytes"] <= document.IN_CACHE else "call"
    if line["timing"] != way or line["dtype"] in _NOT_DRAWN:
      continue
    panel = found.setdefault((line["dtype"], line["op"]), {})
    kind = document.PASSES.index(line["pass"]), line["level"] != levels[0]
    if not math.isnan(value(line)):
      points = panel.setdefault(kind, {})
      points.setdefault(line["bytes"], []).append(value(line))
  mean = lambda points: [
      (x, statistics.geometric_mean(ys)) for x, ys in points.items()
  ]
  order = [line["dtype"] for line in lines]
  return [
      (f"{op}, {dtype}", {kind: mean(points) for kind, points in panel.items()})
      for (dtype, op), panel in sorted(
          found.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
      )
  ]


def files(measured: Document, page: str) -> dict[str, str]:
  """Returns the texts of files by their names, with that of `PAGE`."""
  text = document.as_json(measured)
  measured = json.loads(text)  # As rounded as what is read.
  made = {
      "cpu.json": text,
      "cpu.md": tables.page(measured),
      **draw(measured),
  }
  made = {f"docs/benchmarks/{name}": text for name, text in made.items()}
  return made | {PAGE: tables.results(measured, page)}


def draw(measured: Document) -> dict[str, str]:
  """Returns SVG files by name."""
  lines, levels = document.full(measured), document.levels(measured)[:2]
  lines = [line for line in lines if line["level"] in levels]
  legend = {
      (i, dashed): f"{name}, {document.LEVELS[level]}"
      for dashed, level in enumerate(levels)
      for i, name in enumerate(document.PASSES)
  }
  sizes = [line["bytes"] for line in lines]
  low, high = min(sizes), max(2 * min(sizes), max(sizes))
  ticks = [2**i for i in (10, 15, 20, 25) if low <= 2**i <= high]
  x = chart.Axis(low, high, ticks, _bytes)
  notes = [
      "By bytes of the largest array: up to 1 MiB calls within a program, above"
      " it single calls.",
      f"{document.machine_of(measured)}; jax {measured['versions']['jax']}",
  ]

  def picture(title, value, y):
    panels = _panels(lines, levels, value)
    return chart.draw(title, notes, legend, panels, x, y(panels))

  def ratios(panels):
    values = [v for _, p in panels for points in p.values() for _, v in points]
    low, high = (round(math.log2(f(values))) for f in (min, max))
    low, high = min(low, -1), max(high + 1, 2)
    step = math.ceil((high - low) / 6)
    ticks = [2.0**i for i in range(low, high + 1) if i % step == 0]
    return chart.Axis(2.0**low, 2.0**high, ticks, _times)

  def shares(_):
    ticks = [0, 0.25, 0.5, 0.75, 1]
    return chart.Axis(0, 1.2, ticks, "{:.0%}".format, scale=lambda value: value)

  speed = lambda line: document.best(line, "jax.numpy")
  share = lambda line: line["share"]
  return {
      "cpu_speed.svg": picture(
          "Speed-up over jax.numpy, compiled", speed, ratios
      ),
      "cpu_share.svg": picture("Share of a copy's bandwidth", share, shares),
  }
