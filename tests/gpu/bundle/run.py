# SPDX-License-Identifier: Apache-2.0
"""Runs what is in this folder, with the jax of the Python that runs it.

  python3 run.py test [--jobs=N] [NAME ...]   tests whose paths contain a NAME
  python3 run.py bench [ARGS ...]             the benchmark
  python3 run.py sanitize [TOOL ...]          compute-sanitizer over the kernels
  python3 run.py list                         the tests

Each test file has a process of its own, whose output is kept in `logs/`. Exit
status 1 if something failed.
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
_TESTS = (
    "tests",
    "tests/gpu",
    "tests/kit",
    "tests/kit/cpp",
    "tests/ops/rms_norm",
    "tests/suite",
)
_PATHS = ("python", *_TESTS, "benchmarks", "site-packages")
_TIMEOUT_S = 1800

_PASSED = re.compile(r"^\[       OK \]", re.M)
_SKIPPED = re.compile(r"^\[  SKIPPED \] .* - (.*)$", re.M)
_FAILED = re.compile(r"^(?:FAIL|ERROR): (.*)$", re.M)


def environment() -> dict[str, str]:
  """Returns the environment in which everything here runs."""
  paths = [str(_ROOT / path) for path in _PATHS]
  if os.environ.get("PYTHONPATH"):
    paths.append(os.environ["PYTHONPATH"])
  return {
      # By default each process would take most of the GPU's memory.
      "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
      **os.environ,
      "PYTHONPATH": os.pathsep.join(paths),
  }


def tests(names: list[str]) -> list[pathlib.Path]:
  """Returns the test files whose paths contain one of the names."""
  found = sorted(
      file for folder in _TESTS for file in (_ROOT / folder).glob("*_test.py")
  )
  for name in names:
    if not any(name in str(file.relative_to(_ROOT)) for file in found):
      sys.exit(f"run.py: no test is named {name}")
  return [
      file
      for file in found
      if not names
      or any(name in str(file.relative_to(_ROOT)) for name in names)
  ]


def run_test(file: pathlib.Path) -> tuple[int, int, list[str]]:
  """Runs a test file; returns what passed, what failed, and why others did not run."""
  start = time.monotonic()
  log = _LOGS / f"{file.stem}.log"
  with open(log, "w", encoding="utf-8") as output:
    try:
      status = subprocess.run(
          [sys.executable, file],
          env=environment(),
          cwd=_ROOT,
          stdout=output,
          stderr=subprocess.STDOUT,
          timeout=_TIMEOUT_S,
      ).returncode
    except subprocess.TimeoutExpired:
      status = "timeout"
  text = log.read_text("utf-8", errors="replace")
  failures = _FAILED.findall(text)
  skipped = _SKIPPED.findall(text)
  passed = len(_PASSED.findall(text))
  if status != 0 and not failures:
    failures = [f"the process ended early: {status}"]
  elif not passed and not skipped:
    failures = failures or ["there is no test in it"]
  line = f"{file.relative_to(_ROOT)}: {passed} passed, {len(failures)} failed"
  if skipped:
    line += f", {len(skipped)} not run"
  print(f"{line} ({time.monotonic() - start:.0f} s)", flush=True)
  for failure in failures:
    print(f"  failed: {failure}, see {log.relative_to(_ROOT)}", flush=True)
  return passed, len(failures), skipped


def run_tests(arguments: list[str]) -> int:
  parser = argparse.ArgumentParser(prog="run.py test")
  parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
  parser.add_argument("names", nargs="*")
  options = parser.parse_args(arguments)
  _LOGS.mkdir(exist_ok=True)
  with futures.ThreadPoolExecutor(options.jobs) as pool:
    results = list(pool.map(run_test, tests(options.names)))
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
    return run_program("benchmarks/benchmark.py", arguments)
  if what == "sanitize":
    return run_program("tests/gpu/sanitize.py", arguments)
  if what == "list":
    print("\n".join(str(file.relative_to(_ROOT)) for file in tests(arguments)))
    return 0
  sys.exit(__doc__)


if __name__ == "__main__":
  sys.exit(main())
