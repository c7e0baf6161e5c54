# SPDX-License-Identifier: Apache-2.0
"""Compares the levels of x86-64 that kernels are compiled for.

A higher level should never be slower. But processors differ in what they run
fast: some run single instructions of AVX-512 in microcode.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import itertools
import random
import statistics
from typing import NamedTuple

from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.kit import cpu

# A higher level may take so many times as long: less is noise.
LIMIT = 1.25
# What is above the limit is measured so many times more.
_REPEATS = 3


class Comparison(NamedTuple):
  """Two levels, of which the higher one should be no slower.

  Attributes:
    higher: a level.
    lower: a level.
    ratio: how many times as long the higher one takes: the median of rounds. If
      it was measured several times, the least of the medians.
  """

  higher: int
  lower: int
  ratio: float

  @property
  def fails(self) -> bool:
    return self.ratio > LIMIT


def levels() -> list[int]:
  """Returns the level of this process, and then all lower ones."""
  highest = cpu.cpu_level()
  return [highest] + [level for level in (3, 1) if level < highest]


@contextlib.contextmanager
def workers(
    module: str,
    function: str,
    *,
    seconds: float,
    chosen: Iterable[int] | None = None,
) -> Iterator[dict[int, isolated.Worker]]:
  """Yields a worker for each level: a process reads its level once.

  Args:
    module: of `isolated.Worker`.
    function: the same.
    seconds: the same.
    chosen: the levels; by default all.
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
    clocks: Mapping[int, Callable[[], float]], rounds: int
) -> list[Comparison]:
  """Compares all pairs of levels.

  Args:
    clocks: by level, from the highest: returns a time, measured now.
    rounds: how often each is called. They take turns.
  """
  medians = _medians(clocks, rounds)
  for _ in range(_REPEATS):
    slow = [pair for pair, ratio in medians.items() if ratio > LIMIT]
    if not slow:
      break
    again = _medians(clocks, rounds)
    medians |= {pair: min(medians[pair], again[pair]) for pair in slow}
  return [Comparison(*pair, ratio) for pair, ratio in medians.items()]


def _medians(clocks, rounds):
  times: dict[int, list[float]] = {level: [] for level in clocks}
  for _ in range(rounds):
    for level in random.sample(list(clocks), len(clocks)):
      times[level].append(clocks[level]())
  return {
      (higher, lower): statistics.median(
          slow / fast for slow, fast in zip(times[higher], times[lower])
      )
      for higher, lower in itertools.combinations(clocks, 2)
  }
