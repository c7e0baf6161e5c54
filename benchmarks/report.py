# SPDX-License-Identifier: Apache-2.0
"""Measures all ops on the CPU, and writes tables and pictures.

  bazel run //benchmarks:report -- --write

At each level of x86-64 that this machine has, with all threads and with one,
each in a process of its own; what has a result is not measured again, so that
the command may be stopped, and goes on. --write puts what comes of it into
docs/benchmarks and docs/measurements.md; else it stays in a new folder.
"""

import argparse
from collections.abc import Iterator, Sequence
import datetime
import json
import math
import os
import pathlib
import signal
import sys
import tempfile

import catalog
import document
from jax_ffi_ops import kit
from jobs import Job
import machine
import measurement
import options
import phases
from phases import Phase
import pictures
from setting import Setting

_HERE = pathlib.Path(__file__).resolve().parent
# Where results of a report wait for the rest.
_KEPT = pathlib.Path(tempfile.gettempdir(), "xla_ffi_ops_benchmarks")
_NAMES = "op", "size", "dtype", "pass", "timing"
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


def _phases(patterns: Sequence[str], rounds: int) -> list[Phase]:
  """Returns a phase for each setting, with the lines that a pattern fits."""
  return [
      _phase(
          wanted,
          [
              line
              for op in catalog.CASES
              for line in map("/".join, _lines(op, everything))
              if any(options.fits(line, x) for x in patterns)
          ],
          rounds,
      )
      for wanted, everything in _settings()
  ]


def _collect(parts, results) -> dict:
  """Returns the document of the results."""
  lines = []
  for part in parts:
    level, threads, heap, *names = part.split("/")
    found = results.of.get(part, {})
    if found.get("status") == "passed":
      named = dict(zip(_NAMES, names))
      where = {"level": int(level), "threads": int(threads), "heap": heap}
      lines.append(
          named | where | {n: found[n] for n in measurement.Line._fields}
      )
  return {
      "date": str(datetime.date.today()),
      "machine": machine.describe(),
      "versions": machine.versions(),
      "lines": lines,
  }


def _measure(patterns, rounds, folder):
  """Returns the document of what is measured, and how many lines failed."""
  planned = _phases(patterns, rounds)
  folder.mkdir(parents=True, exist_ok=True)
  results = phases.Results(folder / "results.jsonl")
  os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
  # As if interrupted: what has been started is stopped.
  signal.signal(signal.SIGTERM, signal.default_int_handler)

  def tell(part, result):
    print(f"{part:<64}{result['note']}", flush=True)

  phases.run(
      planned,
      results,
      seconds=math.inf,
      call_seconds=math.inf,
      folder=folder,
      tell=tell,
  )
  parts = [part for phase in planned for part in phase.parts()]
  measured = _collect(parts, results)
  return measured, len(parts) - len(measured["lines"])


def main() -> int:
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
      "--lines",
      type=options.names,
      default=["*"],
      help="OP/SIZE/DTYPE/PASS/TIMING",
  )
  parser.add_argument("--rounds", type=int, default=15)
  parser.add_argument(
      "--folder",
      type=pathlib.Path,
      help=f"for results; by default with --write: {_KEPT}; remove it to begin"
      " again",
  )
  parser.add_argument("--write", action="store_true", help="into the workspace")
  parser.add_argument(
      "--render", action="store_true", help="only write docs/benchmarks anew"
  )
  asked = parser.parse_args()
  workspace = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  root, failed = workspace, 0
  if asked.render:
    saved = workspace / "docs" / "benchmarks" / "cpu.json"
    measured = json.loads(saved.read_text("utf-8"))
  else:
    folder = asked.folder or (
        _KEPT
        if asked.write
        else pathlib.Path(tempfile.mkdtemp(prefix="xla_ffi_ops_rehearsal_"))
    )
    measured, failed = _measure(asked.lines, asked.rounds, folder)
    root = workspace if asked.write else folder
  if not document.full(measured):
    sys.exit("report.py: nothing was measured with all threads")
  page = (workspace / pictures.PAGE).read_text("utf-8")
  for name, text in pictures.files(measured, page).items():
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, "utf-8")
    print(f"written: {root / name}")
  print(f"{failed} lines failed")
  return int(failed > 0)


if __name__ == "__main__":
  sys.exit(main())
