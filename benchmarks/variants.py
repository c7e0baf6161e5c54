# SPDX-License-Identifier: Apache-2.0
"""The passes of a function of JAX, and the ways in which each is timed."""

from collections.abc import Callable, Mapping, Sequence
import functools
from typing import NamedTuple

import jax
from jax.dtypes import float0
import jax.numpy as jnp
import numpy as np

import programs
import timing


class Variant(NamedTuple):
  """A way to compute a pass.

  Attributes:
    call: returns the results for the first set of operands.
    samplers: from the ways of timing that it has to functions that make the
      sampler of so many calls: timing.py.
  """

  call: Callable[[], Sequence]
  samplers: Mapping[str, Callable[[int], timing.Sampler]]


def run_pass(function, direction, operands, cotangents):
  """Returns a tuple: results, or gradients, or both.

  Of integers there are neither gradients nor cotangents.
  """
  tupled = lambda *operands: tuple(jax.tree.leaves(function(*operands)))
  if direction == "forward":
    return tupled(*operands)
  results, vjp = jax.vjp(tupled, *operands)
  gradients = _pull_back(vjp, results, cotangents)
  return gradients if direction == "backward" else results + gradients


def _pull_back(vjp, results, cotangents):
  left = iter(cotangents)
  is_float = lambda x: jnp.issubdtype(x.dtype, jnp.inexact)
  zeros = lambda x: np.zeros(x.shape, float0)
  gradients = vjp(
      tuple(next(left) if is_float(x) else zeros(x) for x in results)
  )
  return tuple(x for x in gradients if x.dtype != float0)


def of_function(function, direction, sets) -> Variant:
  """Returns the variant whose backward pass keeps the operands."""
  first = direction == "backward"  # A gradient takes its cotangent's place.

  def run(_, arrays):
    operands, cotangents = arrays[::-1] if first else arrays
    return run_pass(function, direction, operands, cotangents)

  return _variant(run, [((), x[::-1] if first else x) for x in sets])


def of_vjp(function, sets) -> Variant:
  """Returns that of the backward pass with what jax.vjp keeps for it."""
  tupled = lambda *operands: tuple(jax.tree.leaves(function(*operands)))
  results = jax.eval_shape(tupled, *sets[0][0])

  def run(vjp, arrays):
    return _pull_back(vjp, results, arrays)

  linear = jax.jit(lambda *operands: jax.vjp(tupled, *operands)[1])
  return _variant(run, [(linear(*xs), dys) for xs, dys in sets])


def _variant(run, sets) -> Variant:
  """Returns that of run(kept, arrays), which returns the results."""
  call = functools.partial(programs.compile(run, *sets[0]), *sets[0])
  wait = jax.block_until_ready
  samplers = {
      "call": lambda _: timing.waited(call, wait),
      "in_place": lambda _: timing.waited(
          programs.in_place(run, *sets[0]), wait
      ),
      "program": lambda _: timing.enqueued(programs.loop(run, sets[0]), wait),
      "device": lambda n: timing.pipelined(
          programs.graph(run, sets, n), wait, n
      ),
  }
  return Variant(call, samplers)
