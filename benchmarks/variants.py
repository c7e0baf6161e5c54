# SPDX-License-Identifier: Apache-2.0
"""The passes of a function of JAX, and the ways in which each is timed."""

from collections.abc import Callable, Mapping, Sequence
import functools
from typing import Any, NamedTuple

import jax
from jax.dtypes import float0
import jax.numpy as jnp
import numpy as np

import streams
import timing

# One CUDA graph of all calls, however few they are.
_OPTIONS = {"xla_gpu_graph_min_graph_size": 1}


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
  is_float = lambda x: jnp.issubdtype(x.dtype, jnp.floating)
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


def _variant(run, sets) -> Variant:
  """Returns that of run(kept, arrays), which returns the results."""
  call = functools.partial(_compile(run, *sets[0]), *sets[0])
  wait = jax.block_until_ready
  samplers = {
      "call": lambda _: timing.waited(call, wait),
      "in_place": lambda _: timing.waited(_in_place(run, *sets[0]), wait),
      "program": lambda _: timing.enqueued(_loop(run, sets[0]), wait),
      "device": lambda n: timing.pipelined(_graph(run, sets, n), wait, n),
  }
  return Variant(call, samplers)


def _in_place(run, kept, arrays):
  """Returns a call that gives up its arrays and goes on with its results."""
  step = lambda arrays: _feed(arrays, run(kept, arrays))
  state = jax.tree.map(jnp.copy, arrays), []
  program = _compile(step, state[0], donate_argnums=0)

  def call():
    nonlocal state
    state = program(state[0])
    return state

  return call


def _loop(run, arrays):
  """Returns a program of so many calls with the same arrays, on the CPU."""
  leaves, tree = jax.tree.flatten(arrays)

  def many(calls, leaves):
    def body(_, leaves):
      return streams.barrier(leaves, run(*tree.unflatten(leaves)))

    return jax.lax.fori_loop(0, calls, body, tuple(leaves))

  # The number is an operand: XLA unrolls loops whose length it knows.
  run_loop = lambda program, calls: program(jnp.int32(calls), leaves)
  return functools.partial(run_loop, _compile(many, jnp.int32(1), leaves))


def _graph(run, sets, calls):
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

  return functools.partial(_compile(many, sets), sets)


def _compile(function, *operands, **options):
  if jax.default_backend() == "gpu":
    options["compiler_options"] = _OPTIONS
  return jax.jit(function, **options).lower(*operands).compile()
