# SPDX-License-Identifier: Apache-2.0
"""Times the functions of this package against those of jax, for the doctor."""

from collections.abc import Iterator, Sequence
import math
import statistics
import time

import jax

import jax_ffi_ops
from jax_ffi_ops import isolated
from jax_ffi_ops.speed_cases import CASES

_ROUNDS = range(3, 50)
_WIDTH = max(map(len, CASES))


def lines(
    names: Sequence[str] = (), seconds: float = 60
) -> Iterator[tuple[str, bool]]:
  """Yields a line for each function, and whether it could be timed.

  They are timed in another process. If that ends early, a new one goes on with
  the next function.

  Args:
    names: of the functions; by default all.
    seconds: how long one may take.
  """
  left = list(names or CASES)
  while left:
    try:
      for line, state in isolated.messages(
          "jax_ffi_ops.speeds", "timed", left, seconds=seconds
      ):
        yield line, state
        left.pop(0)
      return
    except isolated.Ended as end:
      yield f"{left.pop(0)}: timing it {end}", False


def timed(
    names: Sequence[str], most: int = 1 << 30, seconds: float = 2
) -> Iterator[tuple[str, bool]]:
  """Yields the same lines, timed in this process.

  Args:
    names: of the functions.
    most: longer axes of operands are cut, to little more than this. An axis
      that is one longer than another one still is.
    seconds: how long to time a function.
  """
  for name in names:
    try:
      case = CASES[name]
      shapes = [
          [n if n <= most else most + n % most for n in shape]
          for shape in case.shapes
      ]
      keys = jax.random.split(jax.random.key(0), len(shapes))
      operands = [case.draw(*pair) for pair in zip(keys, shapes)]
      functions = [
          lambda *x, f=f, case=case: f(*case.first, *x, **case.options)
          for f in (getattr(jax_ffi_ops, name), case.plain)
      ]
      ours, plain = _milliseconds(functions, operands, seconds)
    except Exception as error:  # pylint: disable=broad-except
      yield f"{name}: {type(error).__name__}: {error}".splitlines()[0], False
      continue
    largest = "x".join(map(str, max(shapes, key=math.prod)))
    yield (
        f"{name:{_WIDTH}} {largest:12} {ours:9.3f} ms, jax {plain:9.3f} ms:"
        f" {plain / ours:6.1f} times as fast"
    ), True


def _milliseconds(functions, operands, seconds):
  """Returns the median time of each function; their calls take turns."""
  programs = [jax.jit(function) for function in functions]
  for program in programs:
    jax.block_until_ready(program(*operands))
  times = []
  end = time.monotonic() + seconds
  while len(times) < min(_ROUNDS) or (
      len(times) < max(_ROUNDS) and time.monotonic() < end
  ):
    times.append([_seconds(program, operands) for program in programs])
  return [1e3 * statistics.median(column) for column in zip(*times)]


def _seconds(program, operands):
  start = time.perf_counter()
  jax.block_until_ready(program(*operands))
  return time.perf_counter() - start


if __name__ == "__main__":
  isolated.tell(timed)
