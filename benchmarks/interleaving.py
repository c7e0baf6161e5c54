# SPDX-License-Identifier: Apache-2.0
"""Times functions in turn, so that a machine whose speed drifts is fair."""

from collections.abc import Callable, Mapping
import random
import statistics
import time
from typing import NamedTuple

import jax


class Timing(NamedTuple):
  """Medians over the rounds."""

  seconds: float
  ratio: float  # to the first function, in the same round


def interleave(
    functions: Mapping[str, Callable[[], object]],
    repeats: int,
    round_seconds: float = 0.005,
) -> dict[str, Timing]:
  """Times each function once a round, in an order that changes.

  Args:
    functions: each returns arrays, which are waited for.
    repeats: number of rounds.
    round_seconds: a short function is called as often as this takes.
  """
  calls = {}
  for name, function in functions.items():
    jax.block_until_ready(function())
    calls[name] = max(1, int(round_seconds / _time(function, 1)))
  rounds = []
  for _ in range(repeats):
    order = random.sample(list(functions), len(functions))
    rounds.append({n: _time(functions[n], calls[n]) for n in order})
  first = next(iter(functions))
  return {
      name: Timing(
          statistics.median(r[name] for r in rounds),
          statistics.median(r[name] / r[first] for r in rounds),
      )
      for name in functions
  }


def _time(function, calls):
  start = time.perf_counter()
  for _ in range(calls):
    jax.block_until_ready(function())
  return (time.perf_counter() - start) / calls
