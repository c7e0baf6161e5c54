# SPDX-License-Identifier: Apache-2.0
"""Device time per call, of programs that make many calls.

A program is run some number of times without waiting, and twice that number:
the difference has neither the launch of the first nor the wait for the last.
While the device is busy the host runs ahead; where it does not, that is told.
"""

from collections.abc import Callable, Mapping
import math
import random
import statistics
import time
from typing import NamedTuple

# Three times the largest L2 of the GPUs that are meant (60 MB): what a call
# reads was written so long ago that it is in the memory alone.
_ROTATED_BYTES = 180_000_000
# Calls that move less follow each other in the L2, as in a model.
_SMALL_BYTES = 3_000_000

# A program takes at least as long: less would be the host's time.
_PROGRAM_SECONDS = 2e-3
_MOST_CALLS = 500  # Small ones; more take long to compile.
_FASTEST = 8e12  # Bytes per second, of any GPU's memory.

# Runs that XLA lets the host be ahead of the device, which are 32.
_MOST_AHEAD = 30


class Program(NamedTuple):
  """Calls to be timed.

  Attributes:
    run: enqueues `calls` calls; returns what `wait` waits for.
    wait: waits for what was enqueued.
    calls: see above.
  """

  run: Callable[[], object]
  wait: Callable[[object], object]
  calls: int


class Timing(NamedTuple):
  """Medians over the rounds.

  Attributes:
    seconds: of one call.
    ratio: of these to those of the first program in the same round.
    on_host: the share of the time that the host was busy enqueueing.
  """

  seconds: float
  ratio: float
  on_host: float


def calls_per_program(call_bytes: int) -> int:
  """Returns how many calls take as long as can be measured."""
  wanted = _PROGRAM_SECONDS * _FASTEST / max(call_bytes, 1)
  return min(_MOST_CALLS, math.ceil(wanted))


def rotation(call_bytes: int) -> int:
  """Returns how many sets of arrays calls take turns with."""
  if call_bytes <= _SMALL_BYTES:
    return 1
  return max(2, math.ceil(_ROTATED_BYTES / call_bytes))


def interleave(
    programs: Mapping[str, Program], rounds: int, round_seconds: float = 0.005
) -> dict[str, Timing]:
  """Times each program once a round, in an order that changes."""
  repeats = {}
  for name, program in programs.items():
    for _ in range(3):  # A CUDA graph is recorded in the first runs.
      _time(program, 1)
    wanted = int(round_seconds / _time(program, 1)[0])
    repeats[name] = max(1, min(_MOST_AHEAD // 2, wanted))
  measured = {name: [] for name in programs}
  for _ in range(rounds):
    for name in random.sample(list(programs), len(programs)):
      once, _ = _time(programs[name], repeats[name])
      twice, on_host = _time(programs[name], 2 * repeats[name])
      calls = repeats[name] * programs[name].calls
      # Noise of the host's clock must not make it negative.
      seconds = max((twice - once) / calls, 1e-9)
      measured[name].append((seconds, on_host / twice))
  first = measured[next(iter(programs))]
  return {
      name: Timing(
          statistics.median(seconds for seconds, _ in own),
          statistics.median(a[0] / b[0] for a, b in zip(own, first)),
          statistics.median(share for _, share in own),
      )
      for name, own in measured.items()
  }


def _time(program, repeats):
  start = time.perf_counter()
  for _ in range(repeats):
    last = program.run()
  enqueued = time.perf_counter() - start
  program.wait(last)
  return time.perf_counter() - start, enqueued
