# SPDX-License-Identifier: Apache-2.0
"""Draws lines in small panels, as SVG for light and dark backgrounds."""

from collections.abc import Callable, Mapping, Sequence
import math
from typing import NamedTuple
from xml.sax import saxutils

_WIDTH, _LEFT, _ACROSS = 880, 52, 4
_PANEL, _GAP, _HEIGHT, _ROW = 190, 18, 132, 190  # A panel; a row of them.
_STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #1f2328; }
    .title { font-size: 16px; font-weight: 600; }
    .name { font-weight: 600; }
    .note { fill: #59636e; }
    .end { text-anchor: end; } .middle { text-anchor: middle; }
    .grid { stroke: #d1d9e0; } .one { stroke: #59636e; }
    .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
    .dashed { stroke-width: 1.5; stroke-dasharray: 4 3; }
    .line0 { stroke: #0969da; } .dot0 { fill: #0969da; }
    .line1 { stroke: #bc4c00; } .dot1 { fill: #bc4c00; }
    .line2 { stroke: #1a7f37; } .dot2 { fill: #1a7f37; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .note { fill: #9198a1; }
      .grid { stroke: #3d444d; } .one { stroke: #9198a1; }
      .line0 { stroke: #4493f8; } .dot0 { fill: #4493f8; }
      .line1 { stroke: #f0883e; } .dot1 { fill: #f0883e; }
      .line2 { stroke: #3fb950; } .dot2 { fill: #3fb950; }
    }
"""

# From the number of a colour, and whether it is dashed, to points.
Lines = Mapping[tuple[int, bool], Sequence[tuple[float, float]]]


class Axis(NamedTuple):
  """An axis of all panels.

  Attributes:
    low: its end.
    high: its other end.
    ticks: the values that have a label.
    label: returns that of a value.
    scale: grows evenly along the axis: math.log2, say.
  """

  low: float
  high: float
  ticks: Sequence[float]
  label: Callable[[float], str]
  scale: Callable[[float], float] = math.log2

  def place(self, value: float) -> float:
    """Returns where a value is, from 0 to 1."""
    value = min(max(value, self.low), self.high)
    low, high, at = map(self.scale, (self.low, self.high, value))
    return (at - low) / (high - low)


def text(x: float, y: float, content: str, kind: str) -> str:
  content = saxutils.escape(content)
  return f'  <text class="{kind}" x="{x:.0f}" y="{y:.0f}">{content}</text>'


def _path(points, kind):
  points = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
  return f'  <polyline class="{kind}" points="{points}"/>'


def _panel(left, top, lines, x, y, labelled):
  """Yields a panel's grid and lines; labels of y are left of the first one."""
  bottom = top + _HEIGHT
  for value in y.ticks:
    at = bottom - y.place(value) * _HEIGHT
    kind = "one" if value == 1 else "grid"
    yield _path([(left, at), (left + _PANEL, at)], kind)
    if labelled:
      yield text(left - 6, at + 4, y.label(value), "note end")
  for value in x.ticks:
    at = left + x.place(value) * _PANEL
    yield _path([(at, bottom), (at, bottom + 4)], "grid")
    yield text(at, bottom + 17, x.label(value), "note middle")
  for (colour, dashed), points in lines.items():
    places = [
        (left + x.place(a) * _PANEL, bottom - y.place(b) * _HEIGHT)
        for a, b in sorted(points)
    ]
    yield _path(places, f"line line{colour}" + " dashed" * dashed)
    if not dashed:
      for a, b in places:
        yield f'  <circle class="dot{colour}" cx="{a:.1f}" cy="{b:.1f}" r="2.5"/>'


def _legend(names, left, top):
  for (colour, dashed), name in names.items():
    kind = f"line line{colour}" + " dashed" * dashed
    yield _path([(left, top - 4), (left + 24, top - 4)], kind)
    yield text(left + 30, top, name, "")
    left += 46 + 7 * len(name)


def page(title: str, width: float, height: float, parts: Sequence[str]) -> str:
  """Returns the text of an SVG file, which has its title above the parts."""
  head = [
      f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
      ' role="img" aria-labelledby="title">',
      "  <!-- SPDX-License-Identifier: Apache-2.0 -->",
      f'  <title id="title">{saxutils.escape(title)}</title>',
      f"  <style>{_STYLE}  </style>",
      text(8, 22, title, "title"),
  ]
  return "\n".join([*head, *parts, "</svg>", ""])


def draw(
    title: str,
    notes: Sequence[str],
    legend: Mapping[tuple[int, bool], str],
    panels: Sequence[tuple[str, Lines]],
    x: Axis,
    y: Axis,
) -> str:
  """Returns the text of an SVG file.

  Args:
    title: of the picture.
    notes: lines of text below it.
    legend: the names of lines.
    panels: their titles and lines, four in a row.
    x: the axis of the first coordinates.
    y: of the second ones.
  """
  top = 76 + 18 * len(notes)
  height = top + _ROW * math.ceil(len(panels) / _ACROSS) - 10
  parts = [
      *(text(8, 42 + 18 * i, note, "note") for i, note in enumerate(notes)),
      *_legend(legend, 8, top - 32),
  ]
  for i, (name, lines) in enumerate(panels):
    row, column = divmod(i, _ACROSS)
    left, above = _LEFT + column * (_PANEL + _GAP), top + row * _ROW
    parts.append(text(left, above - 6, name, "name"))
    parts += _panel(left, above, lines, x, y, labelled=column == 0)
  return page(title, _WIDTH, height, parts)
