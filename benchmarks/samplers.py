# SPDX-License-Identifier: Apache-2.0
"""Samplers of calls that are not waited for one by one."""

from collections.abc import Callable
import statistics
import time

from jax_ffi_ops.timing import rounds

# Runs that XLA lets the host be ahead of a GPU, which are 32.
_MOST_AHEAD = 30


def repeated(call: Callable[[], object]) -> Callable[[int], object]:
  """Returns a function that calls so many times, and returns the last result."""

  def enqueue(calls):
    for _ in range(calls):
      last = call()
    return last

  return enqueue


def of_host(
    call: Callable[[], object], wait: Callable
) -> dict[str, Callable[[int], rounds.Sampler]]:
  """Returns, for a `Variant`, the ways to time a function that is not JAX's."""
  return {
      "call": lambda _: rounds.waited(call, wait),
      "program": lambda _: rounds.enqueued(repeated(call), wait),
  }


class Pipelined:
  """The sampler of a program of so many calls, without its launch.

  The program is run some number of times without waiting, and twice that
  number: the difference has neither the launch of the first nor the wait for
  the last. While the device is busy the host runs ahead; if not, on_host tells.
  """

  def __init__(self, program: Callable[[], object], wait: Callable, calls: int):
    self._enqueue, self._wait, self._calls = repeated(program), wait, calls
    self._shares = []
    for _ in range(3):  # A CUDA graph is recorded in the first runs.
      self._time_of(1)
    once, _ = self._time_of(1)
    self._runs = max(1, min(_MOST_AHEAD // 2, int(rounds.SHORT / once)))

  def __call__(self) -> float:
    """Returns the seconds of a call."""
    once, _ = self._time_of(self._runs)
    twice, on_host = self._time_of(2 * self._runs)
    self._shares.append(on_host / twice)
    # Noise of the host's clock must not make it negative.
    return max((twice - once) / (self._runs * self._calls), 1e-9)

  @property
  def on_host(self) -> float:
    """The share of the time that the host was busy enqueueing: the median."""
    return statistics.median(self._shares)

  def _time_of(self, runs):
    start = time.perf_counter()
    last = self._enqueue(runs)
    on_host = time.perf_counter() - start
    self._wait(last)
    return time.perf_counter() - start, on_host
