# SPDX-License-Identifier: Apache-2.0
"""The lines that tell most, and the goals that README.md explains."""

from collections.abc import Callable, Iterable, Mapping
import math
from typing import Any, NamedTuple

# The first ones tell most: time may run out. Scans come before ops on rows.
_SCANS = {
    "linear_recurrence": (
        ("8x2048x512", "float32", ("forward", "both")),
        ("64x16384x1", "float32", ("forward", "both")),
        ("8x2048x512", "bfloat16", ("forward", "both")),
        ("64x16384x1", "bfloat16", ("forward", "both")),
    ),
    "cumsum": (
        ("4096x4096", "float32", ("forward",)),
        ("1x16777216", "float32", ("forward",)),
        ("4096x4096", "bfloat16", ("forward",)),
    ),
    "gae": (("2048x4096", "float32", ("forward",)),),
    **{
        name: (("4096x4096", "float32", ("forward",)),)
        for name in ("cumlogsumexp", "cummax", "cummin", "cumprod")
    },
}
_ROWS = (
    ("8192x4096", "bfloat16", ("forward", "backward", "both")),
    ("65536x1024", "bfloat16", ("forward", "backward")),
    ("1024x65536", "bfloat16", ("forward", "backward")),
    ("128x512", "bfloat16", ("forward",)),
    ("256x262144", "bfloat16", ("forward",)),
    ("16384x8192", "float32", ("forward",)),
)
_REHEARSED_SCANS = {
    "linear_recurrence": (("2x32x8", "float32", ("forward", "both")),),
    "gae": (("128x8", "float32", ("forward",)),),
    **{
        name: (("8x64", "float32", ("forward",)),)
        for name in ("cumsum", "cumlogsumexp", "cummax", "cummin", "cumprod")
    },
}
_REHEARSED_ROWS = (("8x4", "float32", ("forward", "both")),)
_ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}


def headlines(ops: Iterable[str], has_gpu: bool) -> list[str]:
  """Returns values of the benchmark's --lines; few and small ones for a CPU."""
  ops = list(ops)
  scans = _SCANS if has_gpu else _REHEARSED_SCANS
  of_scans = [
      f"{op}/{size}/{dtype}/{direction}"
      for op, lines in scans.items()
      if op in ops
      for size, dtype, directions in lines
      for direction in directions
  ]
  of_rows = [
      f"{op}/{size}/{dtype}/{direction}"
      for size, dtype, directions in (_ROWS if has_gpu else _REHEARSED_ROWS)
      for direction in directions
      for op in ops
      if op not in scans
  ]
  return of_scans + of_rows


class Line(NamedTuple):
  """A line, and what `measurement.Line` has of it."""

  name: str
  measured: Mapping[str, Any]

  @property
  def op(self) -> str:
    return self.name.split("/")[0]

  @property
  def x_bytes(self) -> int:
    _, size, dtype, _ = self.name.split("/")
    return math.prod(map(int, size.split("x"))) * _ITEM_BYTES[dtype]

  def is_norm(self, direction: str, least_bytes: int = 0) -> bool:
    return (
        self.op.endswith("_norm")
        and self.name.endswith("/" + direction)
        and self.x_bytes >= least_bytes
    )

  def is_recurrence(self, direction: str, least_bytes: int) -> bool:
    return (
        self.op == "linear_recurrence"
        and self.name.endswith("/" + direction)
        and self.x_bytes >= least_bytes
    )


class Goal(NamedTuple):
  """A bound for some of the lines.

  Attributes:
    text: says what is wanted.
    concerns: whether a line is one of those.
    value: of such a line; the more the better. None if it was not measured.
    least: the bound.
  """

  text: str
  concerns: Callable[[Line], bool]
  value: Callable[[Mapping[str, Any]], float | None]
  least: float


GOALS = (
    Goal(
        "norms, forward, x of 64 MiB and more: 0.95 of the copy",
        lambda line: line.is_norm("forward", 2**26),
        lambda measured: measured["share"],
        0.95,
    ),
    Goal(
        "norms, backward, x of 64 MiB and more: 0.85 of the copy",
        lambda line: line.is_norm("backward", 2**26),
        lambda measured: measured["share"],
        0.85,
    ),
    Goal(
        "norms, both: 2× over jax.numpy",
        lambda line: line.is_norm("both"),
        lambda measured: measured["peers"].get("jax.numpy"),
        2,
    ),
    Goal(
        "all: at least 0.98× over the best peer",
        lambda line: True,
        lambda measured: min(measured["peers"].values(), default=None),
        0.98,
    ),
    Goal(
        "x of 256 KiB and less: 3 us, divided by the time",
        lambda line: line.x_bytes <= 2**18,
        lambda measured: 3e-6 / measured["seconds"],
        1,
    ),
    Goal(
        "linear_recurrence, forward, b of 32 MiB and more: 0.8 of the copy",
        lambda line: line.is_recurrence("forward", 2**25),
        lambda measured: measured["share"],
        0.8,
    ),
    Goal(
        "linear_recurrence, forward, likewise: 5× over associative_scan",
        lambda line: line.is_recurrence("forward", 2**25),
        lambda measured: measured["peers"].get("associative_scan"),
        5,
    ),
    Goal(
        "linear_recurrence, both, likewise: 4× over associative_scan",
        lambda line: line.is_recurrence("both", 2**25),
        lambda measured: measured["peers"].get("associative_scan"),
        4,
    ),
)
