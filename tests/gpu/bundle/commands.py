# SPDX-License-Identifier: Apache-2.0
"""What run.py does in several jobs: test, all, compare. In its folder."""

import argparse
from collections.abc import Callable, Iterable, Sequence
import math
import os
import pathlib
import shutil
import subprocess
import sys

import plan
import table

import goals
import phases

_LOGS = pathlib.Path("logs")
_CALL_AGAIN = 2


def find(pattern: str, names: Sequence[str] = ()) -> list[str]:
  """Returns the files whose paths contain one of the names."""
  found = sorted(map(str, pathlib.Path().glob(pattern)))
  for name in names:
    if not any(name in file for file in found):
      sys.exit(f"run.py: nothing is named {name}")
  return [f for f in found if not names or any(name in f for name in names)]


def _run(
    planned: list[phases.Phase],
    logs: pathlib.Path,
    seconds: float = math.inf,
    call_seconds: float = math.inf,
    more: Callable[[phases.Results], Iterable[str]] = lambda _: (),
) -> int:
  """Runs what is left of the phases; returns the exit status.

  Args:
    planned: the phases.
    logs: the folder for results and logs.
    seconds: that all calls have together.
    call_seconds: that this call has.
    more: returns lines to print before the table.
  """
  logs.mkdir(parents=True, exist_ok=True)
  results = phases.Results(logs / "results.jsonl")

  def tell(part, result):
    note = f"{result['status']}: {result['note']}"
    print(result.get("output", ""), end="")
    print(f"{part}: {note} ({result['took']:.0f} s)", flush=True)

  try:
    finished = phases.run(
        planned,
        results,
        seconds=seconds,
        call_seconds=call_seconds,
        folder=logs,
        tell=tell,
    )
  except KeyboardInterrupt:
    finished = False
  rows = list(table.rows(planned, results))
  text = [*table.details(planned, results), "", *more(results), *map(str, rows)]
  (logs / "table.txt").write_text("\n".join(text) + "\n", "utf-8")
  print(*text, sep="\n", flush=True)
  shutil.make_archive("logs", "gztar", ".", _LOGS)
  if not finished:
    print("There is more to do: call this again.")
    return _CALL_AGAIN
  failed = any(row.verdict == "FAIL" for row in rows)
  return int(failed or any(map(results.are_missing, planned)))


def _parse(parser, arguments):
  """Adds the options of what can be called again, and parses all."""
  parser.add_argument(
      "--minutes", type=float, default=25, help="of all calls together"
  )
  parser.add_argument(
      "--call-minutes", type=float, default=math.inf, help="of this call"
  )
  return parser.parse_args(arguments)


def _tests_parser(name):
  parser = argparse.ArgumentParser(prog=f"run.py {name}")
  parser.add_argument(
      "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="at once"
  )
  parser.add_argument(
      "--shards", type=int, help="processes that share a file's tests"
  )
  parser.add_argument(
      "names",
      nargs="*",
      default=["tests/gpu/", "tests/ops/"],
      help="parts of the tests' paths",
  )
  return parser


def test(arguments: list[str]) -> int:
  parser = _tests_parser("test")
  parser.add_argument(
      "--timeout", type=float, default=240, help="seconds for a shard of a file"
  )
  options = parser.parse_args(arguments)
  logs = _LOGS / "test"
  shutil.rmtree(logs, ignore_errors=True)
  planned = plan.test_phases(
      find("tests/**/*_test.py", options.names),
      shards=options.shards,
      workers=options.jobs,
      seconds=options.timeout,
      minutes=(math.inf, math.inf),
  )
  return _run(planned, logs)


def _machine() -> tuple[bool, list[str]]:
  """Returns whether there is a GPU, and the ops that have a kernel for one."""
  # In another process: this one must not take memory of the GPU.
  program = """
import catalog, jax
print(jax.default_backend(), *catalog.gpu_ops())
"""
  command = [sys.executable, "-c", program]
  done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120)
  backend, *ops = done.stdout.split()
  return backend == "gpu", ops


def run_all(arguments: list[str]) -> int:
  options = _parse(_tests_parser("all"), arguments)
  has_gpu, ops = _machine()
  planned = plan.all_phases(
      find("tests/**/*_test.py", options.names),
      ops,
      has_gpu=has_gpu,
      shards=options.shards,
      workers=options.jobs,
      minutes=options.minutes,
  )
  times = 60 * options.minutes, 60 * options.call_minutes
  return _run(planned, _LOGS / "all", *times)


def compare(arguments: list[str], caller: pathlib.Path) -> int:
  parser = argparse.ArgumentParser(prog="run.py compare")
  parser.add_argument("--op", action="append", help="by default all")
  parser.add_argument(
      "folders", nargs="+", help="where others have their run.py"
  )
  options = _parse(parser, arguments)
  folders = [".", *(os.path.relpath(caller / x) for x in options.folders)]
  has_gpu, ops = _machine()
  lines = goals.headlines(options.op or ops, has_gpu)
  return _run(
      plan.compare_phases(folders, lines, options.minutes),
      _LOGS / "compare",
      60 * options.minutes,
      60 * options.call_minutes,
      lambda results: table.comparison(folders, lines, results),
  )
