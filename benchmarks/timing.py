# SPDX-License-Identifier: Apache-2.0
"""Times calls in turn, so that a machine whose speed drifts is fair."""

from collections.abc import Callable, Mapping
import random
import time
from typing import NamedTuple

import numpy as np

_SECONDS = 0.005  # A short function is called as often as this takes.
# Threads of a library that wait for more work take a core from the next one.
_PAUSE = 0.004
# Runs that XLA lets the host be ahead of the device, which are 32.
_MOST_AHEAD = 30


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


def waited(function: Callable[[], object], wait: Callable) -> Sampler:
  """Returns the sampler of calls each of which is waited for."""

  def run(calls):
    start = time.perf_counter()
    for _ in range(calls):
      wait(function())
    return time.perf_counter() - start

  run(1)
  calls = max(1, int(_SECONDS / run(1)))

  def sample():
    run(1)  # Threads and caches wake up.
    return Sample(run(calls) / calls)

  return sample


def pipelined(
    program: Callable[[], object], wait: Callable, calls: int
) -> Sampler:
  """Returns the sampler of a program of so many calls, without its launch.

  The program is run some number of times without waiting, and twice that
  number: the difference has neither the launch of the first nor the wait for
  the last. While the device is busy the host runs ahead; if not, on_host tells.
  """

  def run(repeats):
    start = time.perf_counter()
    for _ in range(repeats):
      last = program()
    enqueued = time.perf_counter() - start
    wait(last)
    return time.perf_counter() - start, enqueued

  for _ in range(3):  # A CUDA graph is recorded in the first runs.
    run(1)
  repeats = max(1, min(_MOST_AHEAD // 2, int(_SECONDS / run(1)[0])))

  def sample():
    once, _ = run(repeats)
    twice, on_host = run(2 * repeats)
    # Noise of the host's clock must not make it negative.
    seconds = max((twice - once) / (repeats * calls), 1e-9)
    return Sample(seconds, on_host / twice)

  return sample


def interleave(
    samplers: Mapping[str, Sampler], rounds: int
) -> dict[str, Timing]:
  """Takes a sample of each once a round, in an order that changes."""
  samples = {name: [] for name in samplers}
  for _ in range(rounds):
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
