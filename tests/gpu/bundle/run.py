# SPDX-License-Identifier: Apache-2.0
"""Runs what is in this folder, with the jax of the Python that runs it.

  python3 run.py test [--shard=I/N] [NAME ...]   tests whose paths have a NAME
  python3 run.py bench [PROGRAM] [ARGS ...]      benchmark, or another program
  python3 run.py sanitize [ARGS ...]             compute-sanitizer over kernels
  python3 run.py list                            the tests and benchmarks

Each test file has a process of its own, whose output is kept in `logs/`; its
tests are split into N shards. Exit status 1 if something failed.
"""

import argparse
from concurrent import futures
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import time

_ROOT = pathlib.Path(__file__).resolve().parent
_LOGS = _ROOT / "logs"

_PASSED = re.compile(r"^\[       OK \]", re.M)
_SKIPPED = re.compile(r"^\[  SKIPPED \] .* - (.*)$", re.M)
_FAILED = re.compile(r"^(?:FAIL|ERROR): (.*)$", re.M)


def environment() -> dict[str, str]:
  """Returns the environment in which everything here runs."""
  folders = {file.parent for file in _ROOT.glob("tests/**/*.py")}
  paths = [
      *("python", "benchmarks", "site-packages"),
      *sorted(str(folder.relative_to(_ROOT)) for folder in folders),
  ]
  paths = [str(_ROOT / path) for path in paths]
  if os.environ.get("PYTHONPATH"):
    paths.append(os.environ["PYTHONPATH"])
  return {
      # By default each process would take most of the GPU's memory.
      "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
      **os.environ,
      "PYTHONPATH": os.pathsep.join(paths),
  }


def find(pattern: str, names: list[str]) -> list[str]:
  """Returns the files whose paths contain one of the names."""
  found = sorted(str(file.relative_to(_ROOT)) for file in _ROOT.glob(pattern))
  for name in names:
    if not any(name in file for file in found):
      sys.exit(f"run.py: nothing is named {name}")
  return [f for f in found if not names or any(name in f for name in names)]


def run_test(
    file: str, timeout: float, shard: int, shards: int
) -> tuple[int, int, list[str]]:
  """Runs a test file; returns what passed, what failed, and why others did not run."""
  start = time.monotonic()
  log = _LOGS / f"{file.replace('/', '.')}.{shard}.log"
  sharding = {"TEST_TOTAL_SHARDS": str(shards)}
  sharding["TEST_SHARD_INDEX"] = str(shard - 1)
  with open(log, "w", encoding="utf-8") as output:
    try:
      status = subprocess.run(
          [sys.executable, file],
          env=environment() | sharding,
          cwd=_ROOT,
          stdout=output,
          stderr=subprocess.STDOUT,
          timeout=timeout,
      ).returncode
    except subprocess.TimeoutExpired:
      status = f"more than {timeout:g} s"
  text = log.read_text("utf-8", errors="replace")
  failures = _FAILED.findall(text)
  skipped = _SKIPPED.findall(text)
  passed = len(_PASSED.findall(text))
  if status != 0 and not failures:
    failures = [f"the process ended early: {status}"]
  elif not passed and not skipped and shards == 1:
    failures = failures or ["there is no test in it"]
  line = f"{file}: {passed} passed, {len(failures)} failed"
  if skipped:
    line += f", {len(skipped)} not run"
  print(f"{line} ({time.monotonic() - start:.0f} s)", flush=True)
  for failure in failures:
    print(f"  failed: {failure}, see {log.relative_to(_ROOT)}", flush=True)
  return passed, len(failures), skipped


def run_tests(arguments: list[str]) -> int:
  parser = argparse.ArgumentParser(prog="run.py test")
  parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
  parser.add_argument("--shard", default="1/1", metavar="I/N", help="from 1/N")
  parser.add_argument(
      "--timeout", type=float, default=240, help="seconds for a file's shard"
  )
  parser.add_argument("names", nargs="*")
  options = parser.parse_args(arguments)
  shard, shards = map(int, options.shard.split("/"))
  if not 1 <= shard <= shards:
    parser.error(f"no shard {options.shard}")
  files = find("tests/**/*_test.py", options.names)
  _LOGS.mkdir(exist_ok=True)
  with futures.ThreadPoolExecutor(options.jobs) as pool:
    run = lambda file: run_test(file, options.timeout, shard, shards)
    results = list(pool.map(run, files))
  reasons = [reason for _, _, skipped in results for reason in skipped]
  for reason in sorted(set(reasons)):
    print(f"{reasons.count(reason)} not run: {reason}")
  passed, failed = (sum(result[i] for result in results) for i in range(2))
  print(f"{passed} passed, {failed} failed")
  return int(failed > 0)


def run_program(name: str, arguments: list[str]) -> int:
  command = [sys.executable, _ROOT / name, *arguments]
  return subprocess.run(command, env=environment()).returncode


def main() -> int:
  what, *arguments = sys.argv[1:] or ["help"]
  if importlib.util.find_spec("jax") is None:
    sys.exit(f"run.py: {sys.executable} has no jax")
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
