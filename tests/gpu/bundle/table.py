# SPDX-License-Identifier: Apache-2.0
"""What came of phases and goals, as a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import plan

import goals
from jobs import Result
from phases import Phase
from phases import Results


class Row(NamedTuple):
  """A line of the table.

  Attributes:
    verdict: pass or FAIL; open if something is missing.
    what: is judged.
    text: says how it is.
  """

  verdict: str
  what: str
  text: str

  def __str__(self):
    return f"{self.verdict:<6}{self.what:<58}{self.text}"


def _verdict(failed: int, missing: int) -> str:
  return "FAIL" if failed else "open" if missing else "pass"


def _phase_row(phase: Phase, results: Results) -> Row:
  parts = list(phase.parts())
  found = [results.of[part] for part in parts if part in results.of]
  count = lambda status: sum(x["status"] == status for x in found)
  missing = len(parts) - count("passed") - count("failed")
  text = f"{count('passed')} of {len(parts)} passed"
  text += f", {count('failed')} failed" if count("failed") else ""
  text += f", {missing} not run" if missing else ""
  tests = [x for x in found if "passed" in x]
  if tests:
    passed = sum(x["passed"] for x in tests)
    text += f": {passed} tests"
  text += f" ({results.spent(phase.name) / 60:.1f} min)"
  return Row(_verdict(count("failed"), missing), phase.name, text)


def _goal_row(goal: goals.Goal, lines: Mapping[str, Result]) -> Row | None:
  """Returns the row of a goal, if it concerns any of the lines."""
  concerned = [
      name for name in lines if goal.concerns(goals.Line(name, lines[name]))
  ]
  if not concerned:
    return None
  values = {}
  for name in concerned:
    if lines[name].get("status") == "passed":
      value = goal.value(lines[name])
      if value is not None:
        values[name] = value
  missed = [name for name in values if values[name] < goal.least]
  missing = len(concerned) - len(values)
  text = f"{len(values) - len(missed)} of {len(concerned)} lines"
  if missing:
    text += f", {missing} without a value"
  if values:
    worst = min(values, key=values.get)
    text += f"; worst {values[worst]:.2f}, {worst}"
  return Row(_verdict(len(missed), missing), goal.text, text)


def rows(phases: Sequence[Phase], results: Results) -> Iterator[Row]:
  """Yields the rows of the phases that have jobs, and of the goals."""
  for phase in phases:
    if phase.jobs:
      yield _phase_row(phase, results)
  lines = {
      part: results.of.get(part, {})
      for phase in phases
      if phase.name == "benchmark"
      for part in phase.parts()
  }
  for goal in goals.GOALS:
    if row := _goal_row(goal, lines):
      yield row


def details(phases: Sequence[Phase], results: Results) -> Iterator[str]:
  """Yields what failed, and why tests did not run."""
  reasons = []
  for phase in phases:
    for part in phase.parts():
      result = results.of.get(part, {})
      reasons += result.get("skipped", ())
      if result.get("status") == "failed":
        yield f"{part}: {result['note']}; {result['log']}"
        for failure in result.get("failed", ()):
          yield f"  failed: {failure}"
  for reason in sorted(set(reasons)):
    yield f"{reasons.count(reason)} tests not run: {reason}"


def comparison(
    folders: Sequence[str], lines: Sequence[str], results: Results
) -> Iterator[str]:
  """Yields time and share of the copy of each line, for several bundles."""
  for i, folder in enumerate(folders):
    yield f"[{i}] {folder}"
  for line in lines:
    text = f"{line:<44}"
    for i, folder in enumerate(folders):
      found = results.of.get(plan.compared(folder, line), {})
      value = "-"
      if found.get("status") == "passed":
        value = f"{found['seconds'] * 1e6:.2f} us {found['share']:.0%}"
      text += f"  [{i}] {value:<16}"
    yield text.rstrip()
