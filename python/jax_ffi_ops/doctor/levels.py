# SPDX-License-Identifier: Apache-2.0
"""Compares the levels of x86-64 that kernels are compiled for.

A higher level should never be slower. But processors differ in what they run
fast: some run single instructions of AVX-512 in microcode.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import functools
import itertools
import math
import statistics
from typing import NamedTuple

from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.kit import cpu
from jax_ffi_ops.timing import rounds

# A higher level that is less than so many times as fast as a lower one is slower;
# from here to 1, it is noise.
LEAST = 0.8
# What is below this is measured so many times more.
_REPEATS = 3


class Comparison(NamedTuple):
  """Two levels, of which the higher one should be no slower.

  Attributes:
    higher: a level.
    lower: a level.
    speedup: how many times as fast the higher one is: the median of rounds. If
      it was measured several times, the largest of the medians.
  """

  higher: int
  lower: int
  speedup: float

  @property
  def fails(self) -> bool:
    return self.speedup < LEAST

  def __str__(self) -> str:
    return f"level {self.higher} is {self.speedup:.2f}× as fast as {self.lower}"


def levels() -> list[int]:
  """Returns the level of this process, and then all lower ones."""
  highest = cpu.cpu_level()
  return [highest] + [level for level in (3, 1) if level < highest]


@contextlib.contextmanager
def workers(
    seconds: float,
    chosen: Iterable[int] | None = None,
    module: str = "jax_ffi_ops.doctor.timed",
    function: str = "measured",
) -> Iterator[dict[int, isolated.Worker]]:
  """Yields a worker for each level: a process reads its level once.

  Args:
    seconds: how long an answer may take.
    chosen: the levels; by default all.
    module: calls `tell`.
    function: takes the arguments of a question, and returns the answer.
  """
  found = {}
  with contextlib.ExitStack() as stack:
    for level in chosen or levels():
      # 0 is another processor, which has no levels.
      variables = {cpu.VARIABLE: str(level)} if level else {}
      found[level] = isolated.Worker(
          module, function, seconds=seconds, variables=variables
      )
      stack.callback(found[level].close)
    yield found


def compare(
    clocks: Mapping[int, Callable[[], float]], count: int
) -> list[Comparison]:
  """Compares all pairs of levels.

  Args:
    clocks: by level, from the highest: returns a time, measured now.
    count: of rounds. Levels take turns.
  """
  medians = _medians(clocks, count)
  for _ in range(_REPEATS):
    slow = [pair for pair, speedup in medians.items() if speedup < LEAST]
    if not slow:
      break
    again = _medians(clocks, count)
    medians |= {pair: max(medians[pair], again[pair]) for pair in slow}
  return [Comparison(*pair, speedup) for pair, speedup in medians.items()]


def compare_line(
    workers: Mapping[int, isolated.Worker],
    line: str,
    count: int,
    at_any_speed: bool = False,
    cpu_time: bool = True,
) -> list[Comparison]:
  """Compares all pairs of levels, by a function that workers time.

  Args:
    workers: by level, from the highest.
    line: of `timed.measured`, as are the last two.
    count: of rounds.
    at_any_speed: whether the handler runs where the definition would.
    cpu_time: whether to count the time of all threads.

  Raises:
    isolated.Ended: a process ended.
    ValueError: a level has no time.
  """

  def clock(level):
    answer = workers[level].ask(line, False, 3, at_any_speed, cpu_time)
    if "error" in answer:
      raise ValueError(answer["error"])
    return min(answer["seconds"]["ours"])

  clocks = {level: functools.partial(clock, level) for level in workers}
  return compare(clocks, count)


def _medians(clocks, count):
  times = rounds.turns(clocks, count, seconds=math.inf)
  return {
      (higher, lower): statistics.median(
          slow / fast for fast, slow in zip(times[higher], times[lower])
      )
      for higher, lower in itertools.combinations(clocks, 2)
  }
