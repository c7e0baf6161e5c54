# SPDX-License-Identifier: Apache-2.0
"""Compares the CPU time of each op's sources and quick test with its budget.

  budgets.py PROFILE

PROFILE is what `bazel --profile` wrote. Exit status 1 if an op exceeds a budget
by more than the factor: machines differ. What came from a cache took no time.

Bazel 7 does not tell CPU times. They are estimated: a process has a core as long
as it runs, or its share of all cores while more processes want them than there
are. Bazel records that number, the load average, each second.
"""

import bisect
import collections
import gzip
import json
import os
import re
import sys

# What an action's name begins with, what the op does, and its budget in seconds.
_BUDGETS = (
    (r"Compiling xla_ffi_ops/ops/(\w+)/", "sources compile", 20),
    (r"Testing //tests/ops/(\w+):\1_test\b", "quick test runs", 10),
)
_FACTOR = 3


class Profile:
  """The actions of one run of Bazel, and how busy the machine was."""

  def __init__(self, path: str):
    with gzip.open(path, "rt", encoding="utf-8") as file:
      events = json.load(file)["traceEvents"]
    self._spans = [e for e in events if e.get("ph") == "X"]
    loads = sorted(
        (e["ts"], e["args"]["load"])
        for e in events
        if e["name"] == "System load average" and e.get("args")
    )
    self._times = [time for time, _ in loads]
    self._loads = [load for _, load in loads]

  def actions(self) -> dict[str, float]:
    """Returns the CPU time in seconds of each action that was not cached."""
    processes = collections.defaultdict(list)
    for span in self._spans:
      if span["name"] == "subprocess.run":
        processes[span["tid"]].append((span["ts"], span["ts"] + span["dur"]))
    found = collections.defaultdict(float)
    for span in self._spans:
      if span.get("cat") == "action processing":
        end = span["ts"] + span["dur"]
        for first, last in processes[span["tid"]]:
          if span["ts"] <= first < end:
            found[span["name"]] += self._cpu_seconds(first, last)
    return found

  def _cpu_seconds(self, first, last):
    cores = os.cpu_count() or 1
    steps = [t for t in self._times if first < t < last]
    total = 0.0
    for begin, end in zip([first, *steps], [*steps, last]):
      index = bisect.bisect_right(self._times, begin) - 1
      load = self._loads[index] if index >= 0 else 1
      total += (end - begin) / 1e6 * min(1, cores / max(load, 1e-9))
    return total


def main():
  times = collections.defaultdict(float)
  for name, seconds in Profile(sys.argv[1]).actions().items():
    for index, (pattern, _, _) in enumerate(_BUDGETS):
      if match := re.match(pattern, name):
        times[match[1], index] += seconds
  exceeded = 0
  for (op, index), seconds in sorted(times.items()):
    _, what, budget = _BUDGETS[index]
    line = f"{op}: {what} in about {seconds:.0f} s of CPU, of {budget} s"
    if seconds > _FACTOR * budget:
      exceeded += 1
      line += f": more than {_FACTOR} times its budget (CONTRIBUTING.md)"
    print(line)
  sys.exit(exceeded > 0)


if __name__ == "__main__":
  main()
