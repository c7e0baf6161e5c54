# SPDX-License-Identifier: Apache-2.0
"""The passes of a function of JAX, and the ways in which each is timed."""

from collections.abc import Callable, Mapping, Sequence
import functools
from typing import NamedTuple

import jax

from jax_ffi_ops.timing import passes
from jax_ffi_ops.timing import rounds
import programs
import samplers


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
      "device": lambda n: samplers.Pipelined(
          programs.graph(run, sets, n), wait, n
      ),
  }
  return Variant(call, ways)
