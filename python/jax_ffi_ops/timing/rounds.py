# SPDX-License-Identifier: Apache-2.0
"""Times calls in turn: where a machine's speed drifts, it drifts for all."""

from collections.abc import Callable, Mapping, Sequence
import math
import random
import time
from typing import NamedTuple, TypeVar

import jax
import numpy as np

# What calls are timed with, but for those that only a GPU runs. On a busy machine
# time.process_time tells more: the CPU time of all threads.
clock = time.perf_counter

SHORT = 0.005  # A function that takes less is called until this has passed.
# A call that takes as long is not disturbed by a thread that wakes up.
_LONG = 0.02
# Threads that still work take a core from the next one. A library's threads wait
# for more work, and one of JAX frees the memory of a call after the call.
_PAUSE, _MOST_PAUSES = 0.004, 50
_IDLE = 4e-4  # CPU seconds of a process that only waits for a pause, at most.

K = TypeVar("K")


Sampler = Callable[[], float]  # Returns the seconds of a call, measured now.


class Timing(NamedTuple):
  """What came of the rounds, as first quartile, median and third quartile.

  Attributes:
    seconds: of a call.
    speedup: how many times as fast the first sampler was, in the same round.
  """

  seconds: tuple[float, float, float]
  speedup: tuple[float, float, float]


def waited(
    call: Callable[[], object], wait: Callable[[object], object]
) -> Sampler:
  """Returns the sampler of calls each of which is waited for."""

  def run(calls):
    for _ in range(calls):
      wait(call())

  return _sampler(run)


def enqueued(
    enqueue: Callable[[int], object], wait: Callable[[object], object]
) -> Sampler:
  """Returns the sampler of many calls that are waited for together.

  Args:
    enqueue: makes so many calls. Returns what is waited for.
    wait: waits for it.
  """
  return _sampler(lambda calls: wait(enqueue(calls)))


def _sampler(run):
  def time_of(calls):
    start = clock()
    run(calls)
    return clock() - start

  def least(calls):
    """A pause of the machine must not pass for a slow call."""
    seconds = time_of(calls)
    return seconds if seconds > _LONG else min(seconds, time_of(calls))

  run(1)  # The first call takes longer: its memory is fresh.
  calls = 1
  # With too few calls, what a program does once is timed, too.
  while (seconds := least(calls)) < SHORT:
    # Per call, short runs take longer.
    calls = math.ceil(calls * min(10, 1.2 * SHORT / seconds))

  def sample():
    if seconds < _LONG:
      run(1)  # Threads and caches wake up.
    return time_of(calls) / calls

  return sample


def _settle():
  for _ in range(_MOST_PAUSES):
    used = time.process_time()
    time.sleep(_PAUSE)
    if time.process_time() - used < _IDLE:
      break


def turns(
    samplers: Mapping[K, Sampler],
    rounds: int,
    *,
    seconds: float = 10,
    fewest: int = 5,
) -> dict[K, list[float]]:
  """Takes a sample of each once a round, in an order that changes.

  Args:
    samplers: by name.
    rounds: how many.
    seconds: after which no round begins: of what takes long, fewer are enough.
    fewest: rounds, however long they take.

  Returns:
    The samples of each.
  """
  samples: dict[K, list[float]] = {name: [] for name in samplers}
  start = time.monotonic()
  for done in range(rounds):
    if done >= fewest and time.monotonic() - start > seconds:
      break
    for name in random.sample(list(samplers), len(samplers)):
      _settle()
      samples[name].append(samplers[name]())
  return samples


def summary(samples: Mapping[K, Sequence[float]]) -> dict[K, Timing]:
  """Returns what came of samples: the first ones are those that are compared."""
  quartiles = lambda x: tuple(np.quantile(x, (0.25, 0.5, 0.75)).tolist())
  first = np.array(next(iter(samples.values())))
  return {
      name: Timing(quartiles(each), quartiles(np.array(each) / first))
      for name, each in samples.items()
  }


def interleave(samplers: Mapping[K, Sampler], rounds: int) -> dict[K, Timing]:
  """Returns what comes of so many rounds."""
  return summary(turns(samplers, rounds))


def of_calls(
    calls: Mapping[K, Callable[[], object]], rounds: int
) -> dict[K, Timing]:
  """Returns the same of calls whose results are waited for."""
  wait = jax.block_until_ready
  return interleave(
      {n: waited(call, wait) for n, call in calls.items()}, rounds
  )
