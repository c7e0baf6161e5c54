# SPDX-License-Identifier: Apache-2.0
"""Runs what is in this folder, with the jax of the Python that runs it.

  python3 run.py all --minutes=25 --call-minutes=9
                                    doctor, tests, headlines of the
                                    benchmark, memcheck; then one table. Call it
                                    again, and it goes on: exit status 2 asks so
  python3 run.py test               the tests of gpu/ and ops/
  python3 run.py test tests/        all: those of the kit, too
  python3 run.py test gpu/ softmax  those whose paths contain this
  python3 run.py sanitize           compute-sanitizer, its four tools
  python3 run.py sanitize --op=rms_norm memcheck
  python3 run.py bench              all ops, shapes, dtypes and passes
  python3 run.py bench --op=rms_norm --rows=8192 --dtype=bfloat16 --peers=none
  python3 run.py bench --shard=2/6  every sixth of the lines
  python3 run.py bench overhead     another program of benchmarks/
  python3 run.py list               the tests and the programs

Outputs are in logs/, and logs.tar.gz is all of them. Exit status 1 if something
failed.
"""

import argparse
import importlib.util
import math
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parent
sys.path += [str(_ROOT / "tests/gpu/bundle"), str(_ROOT / "benchmarks")]

import phases
import plan
import table

_CALL_AGAIN = 2


def set_environment():
  """Makes the environment in which everything here runs."""
  folders = {file.parent for file in _ROOT.glob("tests/**/*.py")}
  paths = [
      *("python", "benchmarks", "site-packages"),
      *sorted(str(folder.relative_to(_ROOT)) for folder in folders),
  ]
  paths = [str(_ROOT / path) for path in paths]
  if os.environ.get("PYTHONPATH"):
    paths.append(os.environ["PYTHONPATH"])
  os.environ["PYTHONPATH"] = os.pathsep.join(paths)
  # By default each process would take most of the GPU's memory.
  os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
  os.environ["PYTHONFAULTHANDLER"] = "1"
  resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # A crash would write GBs.
  os.chdir(_ROOT)


def find(pattern: str, names: list[str]) -> list[str]:
  """Returns the files whose paths contain one of the names."""
  found = sorted(str(file.relative_to(_ROOT)) for file in _ROOT.glob(pattern))
  for name in names:
    if not any(name in file for file in found):
      sys.exit(f"run.py: nothing is named {name}")
  return [f for f in found if not names or any(name in f for name in names)]


def run_phases(
    planned: list[phases.Phase],
    logs: pathlib.Path,
    seconds: float = math.inf,
    call_seconds: float = math.inf,
) -> int:
  """Runs what is left of the phases; prints the table and makes the archive."""
  logs.mkdir(parents=True, exist_ok=True)
  results = phases.Results(logs / "results.jsonl")

  def tell(part, result):
    note = f"{result['status']}: {result['note']}"
    print(result.get("output", ""), end="")
    print(f"{part}: {note} ({result['seconds']:.0f} s)", flush=True)

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
  text = [*table.details(planned, results), "", *map(str, rows)]
  (logs / "table.txt").write_text("\n".join(text) + "\n", "utf-8")
  print(*text, sep="\n", flush=True)
  shutil.make_archive("logs", "gztar", _ROOT, "logs")
  if not finished:
    return _CALL_AGAIN
  return int(any(row.verdict == "FAIL" for row in rows))


def _jobs_parser(name):
  parser = argparse.ArgumentParser(prog=f"run.py {name}")
  parser.add_argument(
      "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="at once"
  )
  parser.add_argument(
      "--shards", type=int, help="processes that share a file's tests"
  )
  parser.add_argument("names", nargs="*", help="parts of the tests' paths")
  return parser


_DEFAULT_TESTS = ["tests/gpu/", "tests/ops/"]


def run_tests(arguments: list[str]) -> int:
  parser = _jobs_parser("test")
  parser.add_argument(
      "--timeout", type=float, default=240, help="seconds for a shard of a file"
  )
  options = parser.parse_args(arguments)
  logs = _ROOT / "logs" / "test"
  shutil.rmtree(logs, ignore_errors=True)
  planned = plan.test_phases(
      find("tests/**/*_test.py", options.names or _DEFAULT_TESTS),
      shards=options.shards,
      workers=options.jobs,
      seconds=options.timeout,
      minutes=(math.inf, math.inf),
  )
  return run_phases(planned, logs)


def run_all(arguments: list[str]) -> int:
  parser = _jobs_parser("all")
  parser.add_argument(
      "--minutes", type=float, default=25, help="of all calls together"
  )
  parser.add_argument(
      "--call-minutes", type=float, default=math.inf, help="of this call"
  )
  options = parser.parse_args(arguments)
  # In another process: this one must not take memory of the GPU.
  program = "import jax; print(jax.default_backend())"
  command = [sys.executable, "-c", program]
  backend = subprocess.run(
      command, stdout=subprocess.PIPE, text=True, timeout=60
  )
  planned = plan.all_phases(
      find("tests/**/*_test.py", options.names or _DEFAULT_TESTS),
      [pathlib.Path(file).stem for file in find("benchmarks/ops/*.py", [])],
      has_gpu=backend.stdout.strip() == "gpu",
      shards=options.shards,
      workers=options.jobs,
      minutes=options.minutes,
  )
  logs = _ROOT / "logs" / "all"
  times = 60 * options.minutes, 60 * options.call_minutes
  status = run_phases(planned, logs, *times)
  if status == _CALL_AGAIN:
    print("There is more to do: call this again.")
  return status


def run_program(name: str, arguments: list[str]) -> int:
  return subprocess.run([sys.executable, name, *arguments]).returncode


def main() -> int:
  what, *arguments = sys.argv[1:] or ["help"]
  if importlib.util.find_spec("jax") is None:
    sys.exit(f"run.py: {sys.executable} has no jax")
  set_environment()
  # As if interrupted: what runs is stopped, and the results are kept.
  signal.signal(signal.SIGTERM, signal.default_int_handler)
  if what == "all":
    return run_all(arguments)
  if what == "test":
    return run_tests(arguments)
  if what == "bench":
    name = "benchmarks/benchmark.py"
    if arguments and not arguments[0].startswith("-"):
      name, *_ = find("benchmarks/*benchmark.py", [arguments.pop(0)])
    return run_program(name, arguments)
  if what == "sanitize":
    return run_program("tests/gpu/sanitize.py", arguments)
  if what == "list":
    print(*find("tests/**/*_test.py", arguments), sep="\n")
    print(*find("benchmarks/*benchmark.py", []), sep="\n")
    return 0
  sys.exit(__doc__)


if __name__ == "__main__":
  sys.exit(main())
