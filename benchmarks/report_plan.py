# SPDX-License-Identifier: Apache-2.0
"""What a report measures: settings and lines, as jobs."""

from collections.abc import Iterator, Sequence
import fnmatch
import math
import os
import pathlib
import sys

import catalog
import document
from jax_ffi_ops import kit
from jobs import Job
from phases import Phase
from setting import Setting

_HERE = pathlib.Path(__file__).resolve().parent
_SECONDS = 600  # For a line: torch.compile is slow, and so are its programs.


def _settings() -> Iterator[tuple[Setting, bool]]:
  """Yields each setting, and whether all lines are measured in it."""
  cores = len(os.sched_getaffinity(0))
  level = kit.cpu_level()
  levels = (4, 3) if level == 4 else (level,)
  for each in levels:
    yield Setting(each, cores, "clean"), True
  for each in levels if cores > 1 else ():
    yield Setting(each, 1, "clean"), False
  yield Setting(level, cores, "default"), False


def _lines(op: str, everything: bool) -> Iterator[tuple[str, ...]]:
  """Yields the lines of an op that are measured.

  In the cache, calls within a program; and single calls of what is larger, and
  of the smallest size. Less if not everything.
  """
  known = catalog.CASES[op]
  last = known.sizes[-1]
  for size in known.sizes if everything else (known.sizes[1], last):
    for dtype in known.dtypes if size == last else known.dtypes[:2]:
      small = known.stream_bytes(size, dtype) <= document.IN_CACHE
      for direction in known.passes:
        if small:
          yield op, size, dtype, direction, "program"
        if not small or size == known.sizes[0]:
          yield op, size, dtype, direction, "call"
      if size == last and known.in_place:
        yield op, size, dtype, "forward", "in_place"


def _phase(wanted: Setting, lines: Sequence[str], rounds: int) -> Phase:
  name = "/".join(map(str, wanted))

  def command(left):
    left = ",".join(part.removeprefix(name + "/") for part in left)
    program = [sys.executable, str(_HERE / "benchmark.py")]
    return [
        *(sys.executable, str(_HERE / "setting.py"), *wanted.arguments()),
        *(*program, f"--lines={left}", f"--rounds={rounds}"),
    ]

  def judge(_, how):
    return {"status": "failed", "note": how or "the process ended before it"}

  job = Job(tuple(f"{name}/{x}" for x in lines), command, _SECONDS, judge)
  return Phase(name, math.inf, 1, [job])


def phases(patterns: Sequence[str], rounds: int) -> list[Phase]:
  """Returns a phase for each setting, with the lines that a pattern fits."""
  return [
      _phase(
          wanted,
          [
              line
              for op in catalog.CASES
              for line in map("/".join, _lines(op, everything))
              if any(fnmatch.fnmatch(line, x) for x in patterns)
          ],
          rounds,
      )
      for wanted, everything in _settings()
  ]
