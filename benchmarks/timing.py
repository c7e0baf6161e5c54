# SPDX-License-Identifier: Apache-2.0
"""Times calls in turn, so that a machine whose speed drifts is fair."""

from collections.abc import Callable, Mapping
import math
import random
import time
from typing import NamedTuple

import numpy as np

# What calls are timed with, but for those that only a GPU runs. On a busy machine
# time.process_time tells more: the CPU time of all threads.
clock = time.perf_counter

_SECONDS = 0.005  # A short function is called as often as this takes.
# Threads of a library that wait for more work take a core from the next one.
_PAUSE = 0.004
# Runs that XLA lets the host be ahead of a GPU, which are 32.
_MOST_AHEAD = 30
# Of what takes long, fewer rounds are enough.
_MOST_SECONDS, _FEWEST_ROUNDS = 10, 5


class Sample(NamedTuple):
  """One measurement.

  Attributes:
    seconds: of a call.
    on_host: the share of the time that the host was busy enqueueing.
  """

  seconds: float
  on_host: float = 0


Sampler = Callable[[], Sample]


class Timing(NamedTuple):
  """What came of the rounds.

  Attributes:
    seconds: of a call: first quartile, median and third quartile.
    ratio: to the first sampler, in the same round: the median.
    on_host: the median.
  """

  seconds: tuple[float, float, float]
  ratio: float
  on_host: float


def waited(call: Callable[[], object], wait: Callable) -> Sampler:
  """Returns the sampler of calls each of which is waited for."""

  def run(calls):
    for _ in range(calls):
      wait(call())

  return _sampler(run)


def enqueued(enqueue: Callable[[int], object], wait: Callable) -> Sampler:
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

  run(1)  # The first call takes longer: its memory is fresh.
  calls = 1
  # With too few calls, what a program does once is timed, too. So a pause of
  # the machine must not pass for a slow call.
  while (seconds := min(time_of(calls), time_of(calls))) < _SECONDS:
    # Per call, short runs take longer.
    calls = math.ceil(calls * min(10, 1.2 * _SECONDS / seconds))

  def sample():
    run(1)  # Threads and caches wake up.
    return Sample(time_of(calls) / calls)

  return sample


def repeated(call: Callable[[], object]) -> Callable[[int], object]:
  """Returns a function that calls so many times, and returns the last result."""

  def enqueue(calls):
    for _ in range(calls):
      last = call()
    return last

  return enqueue


def host_samplers(
    call: Callable[[], object], wait: Callable
) -> dict[str, Callable[[int], Sampler]]:
  """Returns, for a `Variant`, the ways to time a function that is not JAX's."""
  return {
      "call": lambda _: waited(call, wait),
      "program": lambda _: enqueued(repeated(call), wait),
  }


def pipelined(
    program: Callable[[], object], wait: Callable, calls: int
) -> Sampler:
  """Returns the sampler of a program of so many calls, without its launch.

  The program is run some number of times without waiting, and twice that
  number: the difference has neither the launch of the first nor the wait for
  the last. While the device is busy the host runs ahead; if not, on_host tells.
  """
  enqueue = repeated(program)

  def time_of(runs):
    start = time.perf_counter()
    last = enqueue(runs)
    on_host = time.perf_counter() - start
    wait(last)
    return time.perf_counter() - start, on_host

  for _ in range(3):  # A CUDA graph is recorded in the first runs.
    time_of(1)
  runs = max(1, min(_MOST_AHEAD // 2, int(_SECONDS / time_of(1)[0])))

  def sample():
    once, _ = time_of(runs)
    twice, on_host = time_of(2 * runs)
    # Noise of the host's clock must not make it negative.
    seconds = max((twice - once) / (runs * calls), 1e-9)
    return Sample(seconds, on_host / twice)

  return sample


def interleave(
    samplers: Mapping[str, Sampler], rounds: int
) -> dict[str, Timing]:
  """Takes a sample of each once a round, in an order that changes."""
  samples = {name: [] for name in samplers}
  start = time.monotonic()
  for done in range(rounds):
    if done >= _FEWEST_ROUNDS and time.monotonic() - start > _MOST_SECONDS:
      break
    for name in random.sample(list(samplers), len(samplers)):
      time.sleep(_PAUSE)
      samples[name].append(samplers[name]())
  seconds, on_host = (
      {name: np.array([s[i] for s in x]) for name, x in samples.items()}
      for i in range(2)
  )
  first = seconds[next(iter(samplers))]
  return {
      name: Timing(
          tuple(np.quantile(own, (0.25, 0.5, 0.75)).tolist()),
          float(np.median(own / first)),
          float(np.median(on_host[name])),
      )
      for name, own in seconds.items()
  }
