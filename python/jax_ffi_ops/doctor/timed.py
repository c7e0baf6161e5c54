# SPDX-License-Identifier: Apache-2.0
"""Times a function at the level of a process, which `levels.workers` starts."""

import contextlib
import functools
import time
from typing import Any

import jax

from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.kit.calls import choice
from jax_ffi_ops.timing import passes
from jax_ffi_ops.timing import rounds
from jax_ffi_ops.timing.cases import CASES


def measured(
    line: str,
    both: bool = False,
    most: int = 3,
    at_any_speed: bool = False,
    cpu_time: bool = False,
) -> dict[str, Any]:
  """Times a function, in this process.

  Args:
    line: FUNCTION/SIZE/DTYPE/PASS.
    both: whether to time jax's, too; their calls take turns.
    most: rounds; there are fewer if they take longer than half a second.
    at_any_speed: whether the handler runs where the definition would.
    cpu_time: whether to count the time of all threads.

  Returns:
    The `seconds` of the calls of ours and of jax's; or an `error`.
  """
  rounds.clock = time.process_time if cpu_time else time.perf_counter
  try:
    *_, dtype, _ = line.split("/")
    with contextlib.ExitStack() as stack:
      stack.enter_context(jax.enable_x64("64" in dtype or "128" in dtype))
      if at_any_speed:
        stack.enter_context(choice.using("handler if served"))
      samplers = {
          name: _sampler(name, line, at_any_speed)
          for name in ("ours", "jax")[: 1 + both]
      }
      return {"seconds": rounds.turns(samplers, most, seconds=0.5, fewest=3)}
  except Exception as error:  # pylint: disable=broad-except
    told = f"{type(error).__name__}: {error}"
    return {"error": told.splitlines()[0]}


# Levels ask for our function alone again and again, maybe after both.
@functools.lru_cache(maxsize=2)
def _sampler(name, line, at_any_speed):
  call = functools.partial(*_prepared(line, at_any_speed)[name])
  return rounds.waited(call, jax.block_until_ready)


@functools.lru_cache(maxsize=1)
def _prepared(line, at_any_speed):
  """Returns our function and jax's, each with what it is called with."""
  del at_any_speed  # They are compiled when they are first called.
  name, size, dtype, direction = line.split("/")
  case = CASES[name].at(size)
  if direction == "forward":
    arrays = case.make_operands(size, dtype), ()
  else:
    (arrays,) = case.make_sets(size, dtype, 1)
  plain = next(iter(case.peers.values()))
  return {
      who: (
          jax.jit(functools.partial(passes.run, function, direction)),
          *arrays,
      )
      for who, function in (("ours", case.function), ("jax", plain))
  }


if __name__ == "__main__":
  isolated.tell(isolated.answers(measured))
