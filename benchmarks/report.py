# SPDX-License-Identifier: Apache-2.0
"""Measures all ops on the CPU, and writes tables and pictures.

  bazel run //benchmarks:report -- --write

At each level of x86-64 that this machine has, with all threads and with one,
each in a process of its own; what has a result is not measured again, so that
the command may be stopped, and goes on. --write puts what comes of it into
docs/benchmarks and docs/measurements.md; else it stays in a new folder.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import signal
import sys
import tempfile

import document
import machine
import measurement
import phases
import pictures
import report_plan

# Where results of a report wait for the rest.
_KEPT = pathlib.Path(tempfile.gettempdir(), "xla_ffi_ops_benchmarks")
_NAMES = "op", "size", "dtype", "pass", "timing"


def _collect(planned, results) -> dict:
  """Returns the document of the results."""
  lines = []
  for part in (part for phase in planned for part in phase.parts()):
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
  planned = report_plan.phases(patterns, rounds)
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
  measured = _collect(planned, results)
  all_lines = [part for phase in planned for part in phase.parts()]
  return measured, len(all_lines) - len(measured["lines"])


def main() -> int:
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--lines", default="*", help="OP/SIZE/DTYPE/PASS/TIMING")
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
  options = parser.parse_args()
  workspace = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  root, failed = workspace, 0
  if options.render:
    saved = workspace / "docs" / "benchmarks" / "cpu.json"
    measured = json.loads(saved.read_text("utf-8"))
  else:
    patterns = options.lines.split(",")
    folder = options.folder or (
        _KEPT
        if options.write
        else pathlib.Path(tempfile.mkdtemp(prefix="xla_ffi_ops_rehearsal_"))
    )
    measured, failed = _measure(patterns, options.rounds, folder)
    root = workspace if options.write else folder
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
