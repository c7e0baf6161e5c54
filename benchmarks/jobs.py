# SPDX-License-Identifier: Apache-2.0
"""Processes that may crash, hang or lack memory while others go on."""

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time
from typing import Any

_POLL_SECONDS = 0.05
_ABORT_SECONDS = 5  # For faulthandler, which writes where Python was.

Result = dict[str, Any]  # What json can write.


@dataclasses.dataclass(frozen=True)
class Job:
  """A process that makes the results of one or several parts, in order.

  It may write results itself, each as a line of JSON, into the file that the
  environment variable JOB_REPORT names. If it ends early, the first part
  without a result is judged by that end, unless the exit status is 0 and there
  was some result. The parts that are left then get a new process.

  Attributes:
    parts: their names.
    command: returns the command for some of the parts.
    seconds: in which a part has to end.
    judge: returns a result for a log, and for how the process ended (nothing if
      its exit status was 0). With "again", the part is run once more, alone.
    env: more environment variables.
  """

  parts: tuple[str, ...]
  command: Callable[[Sequence[str]], Sequence[str | os.PathLike]]
  seconds: float
  judge: Callable[[str, str], Result]
  env: dict[str, str] = dataclasses.field(default_factory=dict)

  def only(self, parts: Iterable[str]) -> "Job":
    return dataclasses.replace(self, parts=tuple(parts))


class _Process:
  """The process of a job.

  Attributes:
    job: see above.
    left: the parts that have no result.
    ended: whether no result will follow.
  """

  def __init__(self, job, folder):
    self.job = job
    self.left = collections.deque(job.parts)
    self.ended = False
    name = re.sub(r"[^\w.-]+", ".", job.parts[0]).lstrip(".")
    self._log = folder / f"{name}.log"
    self._report = folder / f"{name}.report"
    self._report.write_bytes(b"")
    self._read = 0
    self._began = time.monotonic()
    with open(self._log, "wb") as log:
      self._process = subprocess.Popen(
          job.command(job.parts),
          env=os.environ
          | job.env
          | {"JOB_REPORT": str(self._report.resolve())},
          stdin=subprocess.DEVNULL,
          stdout=log,
          stderr=subprocess.STDOUT,
          process_group=0,  # With what it starts: all is stopped together.
      )
    # What the kernel kills when memory runs out is this, and not run.py.
    score = pathlib.Path(f"/proc/{self._process.pid}/oom_score_adj")
    with contextlib.suppress(OSError):
      score.write_text("900")

  def poll(self) -> Iterator[tuple[str, Result]]:
    """Yields the results since the last call."""
    status = self._process.poll()  # First: nothing is reported after the end.
    for result in self._reported():
      if self.left:
        yield self._next(result)
    hung = time.monotonic() - self._began > self.job.seconds
    if self.left and status is None and not hung:
      return
    if self.left and hung:
      self._abort()
    self.stop()
    self.ended = True
    went_on = status == 0 and len(self.left) < len(self.job.parts)
    if self.left and not went_on:
      how = f"more than {self.job.seconds:g} s" if hung else _ending(status)
      text = self._log.read_text("utf-8", errors="replace")
      yield self._next(self.job.judge(text, how))

  def _next(self, result):
    now = time.monotonic()
    seconds, self._began = now - self._began, now
    return self.left.popleft(), {
        "took": round(seconds, 3),
        "log": str(self._log),
        **result,
    }

  def _reported(self):
    with open(self._report, encoding="utf-8") as report:
      report.seek(self._read)
      while (line := report.readline()).endswith("\n"):
        self._read = report.tell()
        yield json.loads(line)

  def _abort(self):
    """Ends a process that hangs; Python writes to the log where it was."""
    self._process.send_signal(signal.SIGABRT)
    with contextlib.suppress(subprocess.TimeoutExpired):
      self._process.wait(_ABORT_SECONDS)

  def stop(self):
    """Ends the process and what it has started."""
    with contextlib.suppress(ProcessLookupError):  # All have ended.
      os.killpg(self._process.pid, signal.SIGKILL)
    self._process.wait()


def _ending(status):
  """Returns how a process ended, from its exit status; nothing if well."""
  if status >= 0:
    return status and f"exit status {status}" or ""
  return f"ended by {signal.Signals(-status).name}"


def run(
    jobs: Iterable[Job],
    workers: int,
    deadline: float,
    folder: pathlib.Path,
    record: Callable[[str, Result], None],
) -> None:
  """Runs jobs until all have ended, or until a time.

  Args:
    jobs: in the order in which they are started.
    workers: how many run at once.
    deadline: in terms of time.monotonic(). What runs then is stopped, and has
      no result.
    folder: where the logs go.
    record: is given the name and the result of each part.
  """
  waiting = collections.deque(job for job in jobs if job.parts)
  running = []
  try:
    while running or waiting:
      if time.monotonic() >= deadline:
        return
      while waiting and len(running) < workers:
        running.append(_Process(waiting.popleft(), folder))
      for process in list(running):
        for part, result in process.poll():
          record(part, result)
        if process.ended:
          running.remove(process)
          if process.left:
            waiting.appendleft(process.job.only(process.left))
      time.sleep(_POLL_SECONDS)
  finally:
    for process in running:
      process.stop()
