# SPDX-License-Identifier: Apache-2.0
"""The passes of a function of JAX: one call, and programs of many."""

from collections.abc import Callable, Sequence
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

import device_timing

DIRECTIONS = ("forward", "backward", "both")

# One CUDA graph of all calls, however few they are.
_OPTIONS = {"xla_gpu_graph_min_graph_size": 1}


class Variant(NamedTuple):
  """A way to compute a pass.

  Attributes:
    call: returns the results for the first set of operands.
    program: makes a program of so many calls.
  """

  call: Callable[[], Sequence]
  program: Callable[[int], device_timing.Program]


def run_pass(function, direction, operands, cotangents):
  """Returns a tuple: results, or gradients, or both."""
  tupled = lambda *operands: tuple(jax.tree.leaves(function(*operands)))
  if direction == "forward":
    return tupled(*operands)
  results, vjp = jax.vjp(tupled, *operands)
  gradients = vjp(cotangents)
  return gradients if direction == "backward" else results + gradients


def of_peer(function, direction, sets) -> Variant:
  """Returns the variant of a function whose backward pass keeps its operands.

  What a call returns is what a later one is called with, weights too: XLA can
  leave out nothing.
  """

  def step(state):
    operands, cotangents = state
    results = run_pass(function, direction, operands, cotangents)
    if direction == "forward":
      return results, ((*results, *operands[len(results) :]), cotangents)
    outs, gradients = results[: -len(operands)], results[-len(operands) :]
    arrays = sum(x.shape == operands[0].shape for x in operands)
    operands = (*outs, *operands[len(outs) : arrays], *gradients[arrays:])
    return results, (operands, (gradients[0], *cotangents[:-1]))

  return _variant(step, sets)


def of_op(function, direction, sets) -> Variant:
  """Returns the variant of an op; its backward pass has its own residuals."""
  if direction != "backward":
    return of_peer(function, direction, sets)

  def step(state):
    vjp, cotangents = state
    gradients = vjp(cotangents)
    return gradients, (vjp, (gradients[0], *cotangents[:-1]))

  tupled = lambda *operands: tuple(jax.tree.leaves(function(*operands)))
  linear = jax.jit(lambda *operands: jax.vjp(tupled, *operands)[1])
  return _variant(step, [(linear(*xs), dys) for xs, dys in sets])


def _variant(step, states):
  call = _compile(lambda state: step(state)[0], states[0])

  def program(calls):
    def many(states):
      states = list(states)
      for i in range(calls):
        here, there = i % len(states), (i + 1) % len(states)
        _, states[here] = step(states[here])
        # One call after the other, and none fused with the next: for a GPU,
        # XLA keeps barriers until all is scheduled.
        states[here], states[there] = jax.lax.optimization_barrier(
            (states[here], states[there])
        )
      # So little that no CUDA graph has to be updated for new results.
      firsts = [x[(0,) * x.ndim] for x in jax.tree.leaves(states)]
      return jnp.stack([x.astype(jnp.float32) for x in firsts])

    run = _compile(many, states)
    return device_timing.Program(run, jax.block_until_ready, calls)

  return Variant(call, program)


def _compile(function, operands):
  options = _OPTIONS if jax.default_backend() == "gpu" else None
  program = jax.jit(function, compiler_options=options)
  return functools.partial(program.lower(operands).compile(), operands)
