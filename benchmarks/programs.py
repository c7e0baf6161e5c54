# SPDX-License-Identifier: Apache-2.0
"""Compiled programs that are timed: of one call, in place, or of many calls."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

import streams

# One CUDA graph of all calls, however few they are.
_OPTIONS = {"xla_gpu_graph_min_graph_size": 1}

# Three times the largest L2 of the GPUs that are meant (60 MB): what a call
# reads was written so long ago that it is in the memory alone.
_ROTATED_BYTES = 180_000_000
# Calls that move less follow each other in the L2, as in a model.
_SMALL_BYTES = 3_000_000

# A program takes at least as long: less would be the host's time.
_SECONDS = 2e-3
_MOST_CALLS = 500  # Small ones; more take long to compile.
_FASTEST = 8e12  # Bytes per second, of any GPU's memory.


def graph_calls(call_bytes: float) -> int:
  """Returns how many calls take as long as can be measured."""
  return min(_MOST_CALLS, math.ceil(_SECONDS * _FASTEST / max(call_bytes, 1)))


def graph_sets(call_bytes: float) -> int:
  """Returns how many sets of arrays the calls take turns with."""
  if call_bytes <= _SMALL_BYTES:
    return 1
  return max(2, math.ceil(_ROTATED_BYTES / call_bytes))


def _feed(arrays, results) -> tuple[Any, list]:
  """Returns the arrays, with each result in the first place that it fits.

  What a call returns is what a later one is called with: XLA can leave out
  nothing. Returns also the results that have no place.
  """
  places, tree = jax.tree.flatten(arrays)
  free, left = list(range(len(places))), []
  for result in results:
    kind = result.shape, result.dtype
    for i in free:
      if (places[i].shape, places[i].dtype) == kind:
        places[i] = result
        free.remove(i)
        break
    else:
      left.append(result)
  return tree.unflatten(places), left


def in_place(run, kept, arrays):
  """Returns a call that gives up its arrays and goes on with its results."""
  step = lambda arrays: _feed(arrays, run(kept, arrays))
  state = jax.tree.map(jnp.copy, arrays), []
  program = compile(step, state[0], donate_argnums=0)

  def call():
    nonlocal state
    state = program(state[0])
    return state

  return call


def compiled_loop(run, arrays):
  """Returns a program of so many calls with the arrays, which it takes over."""
  leaves, tree = jax.tree.flatten(arrays)

  def many(calls, leaves):
    def body(_, leaves):
      return streams.barrier(leaves, run(*tree.unflatten(leaves)))

    return jax.lax.fori_loop(0, calls, body, tuple(leaves))

  # The number is an operand: XLA unrolls loops whose length it knows. Arrays
  # that are not donated are copied first, which can take longer than a call.
  return compile(many, jnp.int32(1), leaves, donate_argnums=1)


def loop(run, arrays):
  """Returns a function that makes so many calls in a program, on the CPU."""
  program = compiled_loop(run, arrays)
  state = list(map(jnp.copy, jax.tree.leaves(arrays)))

  def run_loop(calls):
    nonlocal state
    state = list(program(jnp.int32(calls), state))
    return state

  return run_loop


def graph(run, sets, calls):
  """Returns a program: calls that take turns with sets of arrays, on a GPU."""

  def many(sets):
    sets = list(sets)
    for i in range(calls):
      here, there = i % len(sets), (i + 1) % len(sets)
      kept, arrays = sets[here]
      sets[here] = kept, _feed(arrays, run(kept, arrays))[0]
      # One call after the other, and none fused with the next: for a GPU,
      # XLA keeps barriers until all is scheduled.
      sets[here], sets[there] = jax.lax.optimization_barrier(
          (sets[here], sets[there])
      )
    # So little that no CUDA graph has to be updated for new results.
    firsts = [x[(0,) * x.ndim] for x in jax.tree.leaves(sets)]
    return jnp.stack([x.astype(jnp.float32) for x in firsts])

  return functools.partial(compile(many, sets), sets)


def compile(function, *operands, **options):
  if jax.default_backend() == "gpu":
    options["compiler_options"] = _OPTIONS
  return jax.jit(function, **options).lower(*operands).compile()
