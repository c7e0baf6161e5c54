# SPDX-License-Identifier: Apache-2.0
"""A document's tables: a page, and the results in docs/measurements.md."""

from collections.abc import Iterable, Sequence
import itertools
import math
import re
import textwrap

import document
from document import Document

_PEERS = ("jax.numpy", "torch", "torch.compile", "numpy", "scipy")
# Pages have regions between such comments, which a report replaces.
_REGION = r"(?s)(<!-- benchmarks: {} -->\n).*?(<!-- /benchmarks -->)"


def _number(value):
  if math.isnan(value):
    return ""
  digits = 2 if value < 0.1 else 1 if value < 10 else 0
  return f"{value:.{digits}f}"


def _speed_up(line, peer):
  number = _number(document.best(line, peer))
  return number and f"{number}×"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
  lines = [head, ["---"] * len(head), *rows]
  return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def results(measured: Document, old: str) -> str:
  """Returns a page with the largest size of each op, at each level."""
  found = {}
  for line in document.full(measured):
    if line["timing"] == "call":
      row = found.setdefault((line["op"], line["dtype"]), {})
      kind = line["level"], line["pass"]
      row[kind] = max(row.get(kind, line), line, key=lambda x: x["bytes"])
  head = ["op", "size", "dtype"]
  for level in document.levels(measured):
    head += [f"{document.LEVELS[level]}: forward", *document.PASSES[1:]]
  rows, shares = [], []
  for (op, dtype), row in found.items():
    lines = [
        row.get(x)
        for x in itertools.product(document.levels(measured), document.PASSES)
    ]
    cells = [
        f"{_number(document.best(x, 'jax.numpy'))}× ({_number(document.best(x))}×)"
        if x
        else ""
        for x in lines
    ]
    rows.append([f"`{op}`", next(filter(None, lines))["size"], dtype, *cells])
    shares += [x["share"] for x in lines if x]
  if not rows:
    return old
  end = _END.format(document.about(measured), min(shares), max(shares))
  peers = {
      x.split(",")[0] for line in document.full(measured) for x in line["peers"]
  }
  others = [x for x in _PEERS[1:] if x in peers] or ["none"]
  begin = _fill(_BEGIN.format(", ".join(others)))
  table = "\n".join((begin, _table(head, rows), _fill(end)))
  for name, text in {"picture": _PICTURE, "table": table}.items():
    new = lambda found: found[1] + text + found[2]
    old = re.sub(_REGION.format(name), new, old)
  return old


def _fill(text):
  return (
      textwrap.fill(" ".join(text.split()), 80, break_on_hyphens=False) + "\n"
  )


_PICTURE = """![Speed-up over jax.numpy, by op and size](benchmarks/cpu_speed.svg)
"""
_BEGIN = """
The speed-up for the largest size over `jax.numpy`, compiled by jit, in the
fastest of several forms; in parentheses over the fastest peer. Beside
`jax.numpy`, the peers were: {}.
"""
_END = """
Measured with [kept memory](#fresh-pages): {}. Our ops reach
{:.0%} to {:.0%} of the bandwidth of a copy, or of a sum of two arrays where they
move more than two. [The other sizes](benchmarks/cpu.md) are in a table of
their own.
"""


def page(measured: Document) -> str:
  """Returns the page of all lines, a table for each setting."""
  parts = [_HEAD.format(about=_fill(document.about(measured) + "."))]
  key = lambda line: (-line["level"], -line["threads"], line["heap"])
  for _, lines in itertools.groupby(sorted(measured["lines"], key=key), key):
    lines = list(lines)
    first = lines[0]
    threads = f"{first['threads']} thread" + "s" * (first["threads"] > 1)
    parts.append(
        f"## {document.LEVELS[first['level']]}, {threads}, {first['heap']} heap\n"
    )
    peers = [
        x
        for x in _PEERS
        if not all(math.isnan(document.best(l, x)) for l in lines)
    ]
    head = [
        "op",
        "size",
        "dtype",
        "pass",
        "timing",
        "us",
        "+-",
        "GB/s",
        "share",
    ]
    head += [*peers, "ulps", *(f"{x}'s" for x in peers[:2])]
    parts.append(_table(head, (_cells(line, peers) for line in lines)))
  return "\n".join(parts)


def _cells(line, peers):
  first, median, third = line["quartiles"]["ours"]
  ulps = lambda name: _number(line["ulps"].get(name, math.nan))
  return [
      *(line[x] for x in ("op", "size", "dtype", "pass", "timing")),
      _number(1e6 * median),
      f"{(third - first) / median / 2:.0%}",
      _number(line["bandwidth"] / 1e9),
      f"{line['share']:.0%} of {line['stream']}",
      *(_speed_up(line, x) for x in peers),
      *(ulps(x) for x in ("ours", *peers[:2])),
  ]


_HEAD = """# Benchmarks on the CPU

`./bazelw run //benchmarks:report -- --write` makes this page, the
[pictures](cpu_speed.svg) and [cpu.json](cpu.json), which has all quartiles.

{about}
A line begins with the median time of a call, in microseconds, and half of the
distance between its quartiles. Then come the bandwidth for the arrays that must
move, and its share of the bandwidth of a copy, or of a sum of two arrays. Then
come the speed-ups over the peers in their fastest forms. The last columns are
the largest errors, in units in the last place.
[performance.md](../performance.md) says more about all of them.

![Speed-up over jax.numpy](cpu_speed.svg)

![Share of a copy's bandwidth](cpu_share.svg)
"""
