# SPDX-License-Identifier: Apache-2.0
"""Times what was compiled beside jax, for some numbers of rows."""

from collections.abc import Callable, Sequence
import math
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.timing import rounds

_ROUNDS = 9


def table(
    function: Callable[..., Any], args: Sequence[Any], rows: Sequence[int]
) -> dict[tuple[str, int], tuple[float, float]]:
  """Returns the milliseconds of jax and of handlers, by pass and rows.

  Args:
    function: of arrays, as `compile` returned it.
    args: of one row.
    rows: how many rows to time, each of arrays of its own.
  """
  passes = {"forward": function}
  moving = tuple(i for i, x in enumerate(args) if _has_floats(x))
  if moving:
    passes["gradient"] = jax.grad(_sum_of(function), moving, allow_int=True)
  found = {}
  for name, own in passes.items():
    for n in rows:
      try:
        found[name, n] = _times(own, args, n)
      except (TypeError, ValueError):  # Not differentiable.
        break
  return found


def least_rows(
    found: dict[tuple[str, int], tuple[float, float]],
) -> tuple[float, float]:
  """Returns from which of the numbers of rows on the passes are faster."""

  def least(name):
    rows = sorted(n for own, n in found if own == name)
    slower = [n for n in rows if found[name, n][1] > found[name, n][0]]
    faster = [n for n in rows if n > max(slower, default=0)]
    return min(faster, default=math.inf if rows else 1)

  return least("forward"), least("gradient")


def _has_floats(x):
  leaves = jax.tree.leaves(x)
  return any(jnp.issubdtype(jnp.result_type(y), jnp.floating) for y in leaves)


def _sum_of(function):
  """Returns the sum of all numbers of the results."""

  def total(*args):
    leaves = jax.tree.leaves(function(*args))
    floats = [x for x in leaves if jnp.issubdtype(x.dtype, jnp.floating)]
    return sum(jnp.sum(x, dtype=jnp.float32) for x in floats)

  return total


def _times(function, args, rows):
  if rows > 1:
    function = jax.vmap(function)
    args = jax.tree.map(lambda x: jnp.stack([x] * rows), list(args))
  calls = {}
  for what in ("reference", "handler"):
    with kit.using(what):
      compiled = jax.jit(function).lower(*args).compile()
    calls[what] = lambda compiled=compiled: compiled(*args)
  timings = rounds.of_calls(calls, _ROUNDS)
  median = lambda x: 1e3 * timings[x].seconds[1]
  return median("reference"), median("handler")
