# SPDX-License-Identifier: Apache-2.0
"""The passes of a function, and the ways in which each is timed."""

from collections.abc import Callable, Mapping, Sequence
import functools
import statistics
import time
from typing import NamedTuple

import jax

from jax_ffi_ops.timing import passes
from jax_ffi_ops.timing import rounds
import programs

# Runs that XLA lets the host be ahead of a GPU, which are 32.
_MOST_AHEAD = 30


class Variant(NamedTuple):
  """A way to compute a pass.

  Attributes:
    call: returns the results for the first set of operands.
    samplers: from the ways of timing that it has to functions that make the
      sampler of so many calls.
  """

  call: Callable[[], Sequence]
  samplers: Mapping[str, Callable[[int], rounds.Sampler]]


def of_function(function, direction, sets) -> Variant:
  """Returns the variant whose backward pass keeps the operands."""
  first = direction == "backward"  # A gradient takes its cotangent's place.

  def run(_, arrays):
    operands, cotangents = arrays[::-1] if first else arrays
    return passes.run(function, direction, operands, cotangents)

  return _variant(run, [((), x[::-1] if first else x) for x in sets])


def of_vjp(function, sets) -> Variant:
  """Returns that of the backward pass with what jax.vjp keeps for it."""
  tupled = passes.tupled(function)
  results = jax.eval_shape(tupled, *sets[0][0])

  def run(vjp, arrays):
    return passes.pull_back(vjp, results, arrays)

  linear = jax.jit(lambda *operands: jax.vjp(tupled, *operands)[1])
  return _variant(run, [(linear(*xs), dys) for xs, dys in sets])


def _variant(run, sets) -> Variant:
  """Returns that of run(kept, arrays), which returns the results."""
  call = functools.partial(programs.compile(run, *sets[0]), *sets[0])
  wait = jax.block_until_ready
  ways = {
      "call": lambda _: rounds.waited(call, wait),
      "in_place": lambda _: rounds.waited(
          programs.in_place(run, *sets[0]), wait
      ),
      "program": lambda _: rounds.enqueued(programs.loop(run, sets[0]), wait),
      "device": lambda n: Pipelined(programs.graph(run, sets, n), wait, n),
  }
  return Variant(call, ways)


def of_host(results, call: Callable[[], object], wait: Callable) -> Variant:
  """Returns the variant of a function that is not JAX's.

  Args:
    results: of the variant.
    call: starts what is timed.
    wait: waits for it.
  """
  ways = {
      "call": lambda _: rounds.waited(call, wait),
      "program": lambda _: rounds.enqueued(_repeated(call), wait),
  }
  return Variant(results, ways)


def _repeated(call):
  """Returns a function that calls so many times, and returns the last result."""

  def enqueue(calls):
    for _ in range(calls):
      last = call()
    return last

  return enqueue


class Pipelined:
  """The sampler of a program of so many calls, without its launch.

  The program is run some number of times without waiting, and twice that
  number: the difference has neither the launch of the first nor the wait for
  the last. While the device is busy the host runs ahead; if not, on_host tells.
  """

  def __init__(self, program: Callable[[], object], wait: Callable, calls: int):
    self._enqueue, self._wait, self._calls = _repeated(program), wait, calls
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
