# SPDX-License-Identifier: Apache-2.0
"""Phases of jobs that share some time, over as many calls as it takes.

A file has a line for each result. A later call reads what earlier ones wrote:
it runs nothing that has a result, and no longer than they have left.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import json
import pathlib
import time

import jobs
from jobs import Job
from jobs import Result


@dataclasses.dataclass(frozen=True)
class Phase:
  """Jobs that run at the same time.

  Attributes:
    name: of the phase.
    seconds: after which the next phase begins. What is left runs in the end.
    workers: how many jobs run at once.
    jobs: in the order in which they are started.
    alone: returns the job for a part whose result says "again". It runs when
      the others have ended. None if nothing is to run again.
  """

  name: str
  seconds: float
  workers: int
  jobs: Sequence[Job]
  alone: Callable[[str], Job] | None = None

  def parts(self) -> Iterator[str]:
    for job in self.jobs:
      yield from job.parts


class Results:
  """The file of results.

  Attributes:
    of: the last result of each part.
  """

  def __init__(self, path: pathlib.Path):
    self._path = path
    self._spent = {}
    self._last = time.monotonic()
    self.of: dict[str, Result] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
      self._add(json.loads(line))

  def _add(self, line):
    name = line["phase"]
    self._spent[name] = self.spent(name) + line["spent"]
    if "part" in line:
      self.of[line["part"]] = line

  def spent(self, phase: str) -> float:
    """Returns the seconds that a phase has had in all calls."""
    return self._spent.get(phase, 0)

  def write(self, phase: str, **result):
    """Adds a line, with the time since the last one: a call may end anywhen."""
    now = time.monotonic()
    line = {"phase": phase, "spent": round(now - self._last, 3)} | result
    self._last = now
    with open(self._path, "a", encoding="utf-8") as file:
      print(json.dumps(line), file=file)
    self._add(line)

  def are_missing(self, phase: Phase) -> bool:
    return any(
        self.of.get(part, {"again": True}).get("again")
        for part in phase.parts()
    )


def _run_phase(phase, results, deadline, folder, tell):
  """Runs the parts without a result, and then those that are to run again."""

  def record(part, result):
    result = result | {"again": bool(result.get("again") and phase.alone)}
    results.write(phase.name, part=part, **result)
    tell(part, result)

  def record_alone(part, result):
    first = results.of[part]["note"]
    note = f"{result['note']} (at first: {first})"
    record(part, result | {"note": note, "again": False})

  left = [
      job.only(part for part in job.parts if part not in results.of)
      for job in phase.jobs
  ]
  jobs.run(left, phase.workers, deadline, folder, record)
  again = [p for p in phase.parts() if results.of.get(p, {}).get("again")]
  alone = folder / "alone"
  alone.mkdir(exist_ok=True)
  jobs.run(map(phase.alone, again), 1, deadline, alone, record_alone)


def run(
    phases: Sequence[Phase],
    results: Results,
    *,
    seconds: float,
    call_seconds: float,
    folder: pathlib.Path,
    tell: Callable[[str, Result], None],
) -> bool:
  """Runs what has no result yet; returns whether nothing is left to be done.

  Args:
    phases: in their order.
    results: of earlier calls.
    seconds: that all calls have together.
    call_seconds: that this call has.
    folder: where the logs go.
    tell: is given the name and the result of each part.
  """
  spent = sum(results.spent(phase.name) for phase in phases)
  end = time.monotonic() + min(call_seconds, seconds - spent)
  for own_share in (True, False):
    for phase in phases:
      deadline = end
      if own_share:
        left = phase.seconds - results.spent(phase.name)
        deadline = min(end, time.monotonic() + left)
      if results.are_missing(phase) and time.monotonic() < deadline:
        try:
          _run_phase(phase, results, deadline, folder, tell)
        finally:
          results.write(phase.name)
  spent = sum(results.spent(phase.name) for phase in phases)
  return spent >= seconds or not any(map(results.are_missing, phases))
