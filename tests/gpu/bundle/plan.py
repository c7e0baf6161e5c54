# SPDX-License-Identifier: Apache-2.0
"""The jobs of run.py: tests, lines of the benchmark, and what looks at kernels."""

from collections.abc import Iterable, Sequence
import functools
import pathlib
import re
import sys

import goals
from jobs import Job
from jobs import Result
from phases import Phase

_PASSED = re.compile(r"^\[       OK \]", re.M)
_SKIPPED = re.compile(r"^\[  SKIPPED \] .* - (.*)$", re.M)
_FAILED = re.compile(r"^(?:FAIL|ERROR): (.*)$", re.M)
# What XLA, CUDA, PyTorch and Python say. The kernel just ends a process.
_NO_MEMORY = re.compile(
    r"RESOURCE_EXHAUSTED|out of memory|OutOfMemory|MemoryError"
    "|^ended by SIGKILL",
    re.M,
)

# How many processes share the tests of a file, so that each takes some seconds.
# These files are last: what is wrong shows in the others, sooner.
_SHARDS = {
    "buffers_test": 16,
    "clusters_test": 8,
    "columns_test": 48,
    "large_test": 8,
}
_OTHER_SHARDS = 4
_NOT_RUN = "not run: "  # Programs say this last, and why.
_LINE_SECONDS = 120  # Some peers take long to be compiled.
_LARGE = "large_test"  # It needs all of the GPU's memory.


def judge_test(log: str, how: str, shard: int = 1) -> Result:
  failed = _FAILED.findall(log)
  skipped = _SKIPPED.findall(log)
  passed = len(_PASSED.findall(log))
  if how and not failed:
    failed = [f"the process ended early: {how}"]
  if shard == 1 and not (passed or skipped or failed):
    failed = ["there is no test in it"]
  note = f"{passed} passed, {len(failed)} failed"
  return {
      "status": "failed" if failed else "passed",
      "note": note + (f", {len(skipped)} not run" if skipped else ""),
      "passed": passed,
      "failed": failed,
      "skipped": skipped,
      "again": bool(failed and _NO_MEMORY.search(f"{how}\n{log}")),
  }


def quick_phase(
    files: Iterable[str], ops: Sequence[str], workers: int, seconds: float
) -> Phase:
  """Returns a test of each op that calls its handlers with every dtype."""
  env = {"TESTBRIDGE_TEST_ONLY": "handler_of_every_dtype"}
  jobs = [
      Job(
          (f"{file} quickly",),
          lambda _, file=file: [sys.executable, file],
          seconds,
          judge_test,
          env | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
      )
      for file in files
      if pathlib.Path(file).stem.removesuffix("_test") in ops
  ]
  return Phase("quick tests", seconds, workers, jobs)


def test_phases(
    files: Iterable[str],
    *,
    shards: int | None,
    workers: int,
    seconds: float,
    minutes: tuple[float, float],
) -> list[Phase]:
  """Returns the tests, and those that run one after the other.

  Args:
    files: of tests.
    shards: of each file; by default so many that each takes a while.
    workers: how many run at once.
    seconds: that a shard may take.
    minutes: of both phases.
  """

  def job(part):
    file, shard, count = re.fullmatch(r"(.*) (\d+)/(\d+)", part).groups()
    env = {"TEST_TOTAL_SHARDS": count, "TEST_SHARD_INDEX": str(int(shard) - 1)}
    env |= {"JAX_FFI_OPS_THOROUGH_TESTS": "1"}
    if _LARGE in file:
      # Its programs work for long; others take longer to be compiled.
      env |= {"XLA_CLIENT_MEM_FRACTION": "0.9"}
    else:
      env |= {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    judge = functools.partial(judge_test, shard=int(shard))
    return Job((part,), lambda _: [sys.executable, file], seconds, judge, env)

  found = [[], []]
  stem = lambda file: pathlib.Path(file).stem
  for file in sorted(files, key=lambda file: stem(file) in _SHARDS):
    count = shards or _SHARDS.get(stem(file), _OTHER_SHARDS)
    found[_LARGE in file] += [
        job(f"{file} {i + 1}/{count}") for i in range(count)
    ]
  return [
      Phase(name, 60 * own, count, jobs, job)
      for name, own, count, jobs in zip(
          ("tests", "large tests"), minutes, (workers, 1), found
      )
  ]


def _judge_program(log: str, how: str) -> Result:
  last = (log.strip() or "no output").splitlines()[-1]
  status, note = ("failed", f"{how}: {last}") if how else ("passed", last)
  if last.startswith(_NOT_RUN):
    status, note = "not run", last.removeprefix(_NOT_RUN)
  return {"status": status, "note": note, "output": log[-8000:]}


def _program(name: str, command: Sequence[str], seconds: float) -> Job:
  command = [sys.executable, *command]
  return Job((name,), lambda _: command, seconds, _judge_program)


def _judge_line(_, how: str) -> Result:
  note = how or "the process ended before it"
  return {"status": "failed", "note": note, "again": True}


def _lines(lines: Sequence[str], *more: str) -> Job:
  def command(left):
    program = ["benchmarks/benchmark.py", f"--lines={','.join(left)}"]
    return [sys.executable, *program, *more]

  return Job(tuple(lines), command, _LINE_SECONDS, _judge_line)


def _without_peers(line: str) -> Job:
  """Returns the job for a line that may have ended by a peer's fault."""
  return _lines([line], "--peers=none")


def all_phases(
    files: Iterable[str],
    ops: Sequence[str],
    *,
    has_gpu: bool,
    shards: int | None,
    workers: int,
    minutes: float,
) -> list[Phase]:
  """Returns the phases of `run.py all`, what tells most first.

  Args:
    files: of tests.
    ops: that are timed.
    has_gpu: else all is few and small.
    shards: of each file of tests.
    workers: how many tests run at once.
    minutes: for all: two to see that it works, the rest is shared.
  """
  rest = max(0, minutes - 2)
  tests, large = test_phases(
      files,
      shards=shards,
      workers=workers,
      seconds=240,
      minutes=(rest * 0.25, rest * 0.2),
  )
  memcheck = ["--op=rms_norm", "--dtype=bfloat16", "memcheck"]
  kernels = [
      _program("occupancy", ["tests/gpu/occupancy.py"], 60),
      _program("memcheck", ["tests/gpu/sanitize.py", *memcheck], 180),
  ]
  doctor = _program("doctor", ["-m", "jax_ffi_ops.doctor"], 120)
  lines = _lines(goals.headlines(ops, has_gpu))
  return [
      Phase("doctor", 60, 1, [doctor]),
      quick_phase(files, ops, workers, 60),
      Phase("benchmark", 60 * rest * 0.45, 1, [lines], _without_peers),
      Phase("kernels", 60 * rest * 0.1, 1, kernels),
      tests,
      large,
  ]


def compared(folder: str, line: str) -> str:
  """Returns the name of a line's part for one of several bundles."""
  return f"{folder}: {line}"


def compare_phases(
    folders: Iterable[str], lines: Sequence[str], minutes: float
) -> list[Phase]:
  """Returns the phase that times lines of several bundles, without peers."""

  def job(folder):
    def command(left):
      left = [part.removeprefix(compared(folder, "")) for part in left]
      program = [f"{folder}/run.py", "bench", f"--lines={','.join(left)}"]
      return [sys.executable, *program, "--peers=none"]

    parts = tuple(compared(folder, line) for line in lines)
    return Job(parts, command, _LINE_SECONDS, _judge_program)

  return [Phase("compare", 60 * minutes, 1, list(map(job, folders)))]
