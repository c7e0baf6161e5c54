# SPDX-License-Identifier: Apache-2.0
"""Times our functions against those of jax, and CPU levels, for the doctor."""

from collections.abc import Iterator, Mapping, Sequence
import os

from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.doctor import levels
from jax_ffi_ops.doctor.report import Line
from jax_ffi_ops.kit import cpu
from jax_ffi_ops.timing import rounds
from jax_ffi_ops.timing.cases import CASES

_ROUNDS = 50  # at most
_WIDTH = max(map(len, CASES))
_LEVEL_ROUNDS = 5  # of the least time of a few calls each
# A load above this, for each core, disturbs: our functions may use all cores.
_BUSY = 0.25
# If the quartiles of a ratio are so far from each other, it tells little.
_NOISY = 1.5


def lines(names: Sequence[str] = (), seconds: float = 60) -> Iterator[Line]:
  """Yields lines on each function, and whether all is as it should be.

  They are timed in other processes, one for each level of the CPU. If one ends
  early, a new one goes on with the next function.

  Args:
    names: of the functions; by default all.
    seconds: how long a process may take for one.
  """
  yield load(os.getloadavg()[0], cpu.threads()), None
  with levels.workers(seconds) as workers:
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
  case = CASES[name]
  size = case.typical or case.sizes[-1]
  asked = f"{name}/{size}/{case.dtypes[0]}/forward"
  result = workers[own].ask(asked, True, _ROUNDS)
  if "error" in result:
    yield f"{name}: {result['error']}", False
    return
  told = line(name, size, result["seconds"])
  if not lower:
    yield told, True
    return
  try:
    # Levels are compared by CPU times, which others disturb less: what is below
    # the limit is an error.
    found = levels.compare_line(workers, asked, _LEVEL_ROUNDS)
    pairs = [pair for pair in found if pair.higher == own]
  except (isolated.Ended, ValueError) as error:
    yield told, True
    yield f"  {name} at a lower level: {error}", False
    return
  yield f"{told}; {', '.join(map(str, pairs))}", True
  for pair in pairs:
    if pair.fails:
      yield (
          f"  {name} is faster with {cpu.VARIABLE}={pair.lower}: please report"
          " this, with the name of your CPU"
      ), False


def line(name: str, size: str, seconds: Mapping[str, Sequence[float]]) -> str:
  """Returns what `timed.measured` of both functions tells, with medians."""
  ours, plain = rounds.summary(seconds).values()
  low, middle, high = plain.speedup
  noise = ", noisy" if high > _NOISY * low else ""
  return (
      f"{name:{_WIDTH}} {size:12} {1e3 * ours.seconds[1]:9.3f} ms, jax"
      f" {1e3 * plain.seconds[1]:9.3f} ms: {middle:6.1f}× as fast ({low:.1f} to"
      f" {high:.1f}{noise})"
  )
