# SPDX-License-Identifier: Apache-2.0
"""Times our functions against those of jax, and CPU levels, for the doctor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import functools
import math
import os
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp

import jax_ffi_ops
from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.doctor import levels
from jax_ffi_ops.doctor.speed_cases import CASES
from jax_ffi_ops.kit import cpu

_ROUNDS = range(3, 50)
_WIDTH = max(map(len, CASES))
_LEVEL_ROUNDS = 5  # Each has the least time of the fewest calls.
# A load of so much for each core disturbs: ours may use all cores.
_BUSY = 0.25
# If the quartiles of a ratio are so far from each other, it tells little.
_NOISY = 1.5

Line = tuple[str, bool | None]  # As command.py has it.


def lines(names: Sequence[str] = (), seconds: float = 60) -> Iterator[Line]:
  """Yields lines on each function, and whether all is as it should be.

  They are timed in other processes, one for each level of the CPU. If one ends
  early, a new one goes on with the next function.

  Args:
    names: of the functions; by default all.
    seconds: how long a process may take for one.
  """
  yield load(os.getloadavg()[0], len(os.sched_getaffinity(0))), None
  with levels.workers(
      "jax_ffi_ops.doctor.speeds", "times", seconds=seconds
  ) as workers:
    for name in names or CASES:
      try:
        yield from _compared(name, workers)
      except isolated.Ended as end:
        yield f"{name}: timing it {end}", False


def load(average: float, cores: int) -> str:
  """Returns the line on what else the machine does."""
  told = f"Load average {average:.2f} on {cores} cores"
  if average > _BUSY * cores:
    told += ": the machine is busy, so the times below are not reliable"
  return told


def _compared(name, workers) -> Iterator[Line]:
  """Yields the lines on a function: against jax, then between levels."""
  own, *lower = workers
  result = workers[own].ask(name, True)
  if "error" in result:
    yield result["error"], False
    return
  told = line(name, result)
  if not lower:
    yield told, True
    return

  def clock(level):
    answer = workers[level].ask(name, False, 0)
    if "error" in answer:
      raise ValueError(answer["error"])
    return min(answer["seconds"])[0]

  clocks = {level: functools.partial(clock, level) for level in workers}
  try:
    found = levels.compare(clocks, _LEVEL_ROUNDS)
    pairs = [pair for pair in found if pair.higher == own]
  except (isolated.Ended, ValueError) as error:
    yield told, True
    yield f"  {name} at a lower level: {error}", False
    return
  ratios = ", ".join(f"{1 / x.ratio:.2f} of {x.lower}'s" for x in pairs)
  yield f"{told}; level {own}'s speed: {ratios}", True
  for pair in pairs:
    if pair.fails:
      yield (
          f"  {name} is faster with {cpu.VARIABLE}={pair.lower}: please report"
          " this, with the name of your CPU"
      ), False


def line(name: str, result: Mapping[str, Any]) -> str:
  """Returns what `times` of both functions tells, with medians."""
  ours, plain = (
      1e3 * statistics.median(column) for column in zip(*result["seconds"])
  )
  ratios = [y / x for x, y in result["seconds"]]
  low, middle, high = statistics.quantiles(ratios, n=4)
  noise = ", noisy" if high > _NOISY * low else ""
  return (
      f"{name:{_WIDTH}} {result['largest']:12} {ours:9.3f} ms, jax"
      f" {plain:9.3f} ms: {middle:6.1f} times as fast ({low:.1f} to"
      f" {high:.1f}{noise})"
  )


def times(
    name: str, both: bool, seconds: float = 0.5, most: int = 1 << 30
) -> dict[str, Any]:
  """Times a function, in this process.

  Args:
    name: of the function.
    both: whether to time jax's, too; their calls take turns. If not, what
      counts is the CPU time of all threads.
    seconds: after so long there are no more than the fewest rounds.
    most: longer axes of operands are cut, to little more than this. An axis
      that is one longer than another one still is.

  Returns:
    The `seconds` of the calls in each round, and the shape of the `largest`
    operand; or an `error`.
  """
  try:
    programs, operands = prepared(name, most)
    # Levels are compared by CPU times, which others disturb less: what is above
    # the limit is an error.
    clock = time.perf_counter if both else time.process_time
    chosen = programs if both else programs[:1]
    return {
        "largest": _largest(operands),
        "seconds": _rounds(chosen, operands, seconds, clock),
    }
  except Exception as error:  # pylint: disable=broad-except
    told = f"{name}: {type(error).__name__}: {error}"
    return {"error": told.splitlines()[0]}


@functools.lru_cache(maxsize=1)
def prepared(
    name: str, most: int = 1 << 30, dtype: str = "float32"
) -> tuple[Sequence[Callable[..., Any]], Sequence[jax.Array]]:
  """Returns our function and jax's, compiled when called; and operands.

  Args:
    name: of the function.
    most: see above.
    dtype: of the operands that are floating-point numbers.
  """
  case = CASES[name]
  shapes = [
      [n if n <= most else most + n % most for n in shape]
      for shape in case.shapes
  ]
  keys = jax.random.split(jax.random.key(0), len(shapes))
  operands = [case.draw(*pair) for pair in zip(keys, shapes)]
  operands = [
      x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x
      for x in operands
  ]
  programs = [
      jax.jit(lambda *x, f=f: f(*case.first, *x, **case.options))
      for f in (getattr(jax_ffi_ops, name), case.plain)
  ]
  return programs, operands


def _largest(operands):
  shape = max((x.shape for x in operands), key=math.prod)
  return "x".join(map(str, shape))


def _rounds(programs, operands, seconds, clock):
  """Returns the time of each program in each round, after one without clock."""
  for program in programs:
    jax.block_until_ready(program(*operands))
  found: list[list[float]] = []
  end = time.monotonic() + seconds
  while len(found) < _ROUNDS.start or (
      len(found) < _ROUNDS.stop and time.monotonic() < end
  ):
    found.append([_seconds(program, operands, clock) for program in programs])
  return found


def _seconds(program, operands, clock):
  start = clock()
  jax.block_until_ready(program(*operands))
  return clock() - start


if __name__ == "__main__":
  isolated.tell(isolated.answers(times))
