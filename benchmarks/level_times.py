# SPDX-License-Identifier: Apache-2.0
"""Times our functions at the level of a process, for levels_benchmark.py."""

import contextlib
import functools
import time

import jax

import entry
from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.doctor import speeds
from jax_ffi_ops.kit.calls import choice
import timing
import variants

_SAMPLES = 3  # Of which the least counts.


def measured(line: str, at_any_speed: bool, cpu_time: bool) -> float | str:
  """Returns the seconds that a call takes, or why there is none.

  Args:
    line: FUNCTION/SIZE/DTYPE/PASS.
    at_any_speed: whether the handler runs where the definition would.
    cpu_time: whether to count the time of all threads.
  """
  if cpu_time:
    timing.clock = time.process_time
  wide = "64" in line.split("/")[2] or "complex128" in line
  try:
    with jax.enable_x64(wide):
      sample = _sampler(*line.split("/"), at_any_speed)
      return min(sample().seconds for _ in range(_SAMPLES))
  except Exception as error:  # pylint: disable=broad-except
    return f"{type(error).__name__}: {error}".splitlines()[0]


@functools.lru_cache(maxsize=1)
def _sampler(name, size, dtype, direction, at_any_speed):
  with contextlib.ExitStack() as stack:
    if at_any_speed:
      stack.enter_context(choice.handlers_at_any_speed())
    if name in entry.names():
      known = entry.load(name)
      sets = known.make_sets(size, dtype, 1)
      function = known.at(size).function
      call = variants.of_function(function, direction, sets).call
    else:
      (program, _), operands = speeds.prepared(name, int(size), dtype)
      call = functools.partial(program, *operands)
    return timing.waited(call, jax.block_until_ready)


if __name__ == "__main__":
  isolated.tell(isolated.answers(measured))
