# SPDX-License-Identifier: Apache-2.0
"""Times the norms against each other, in turns: noise slows all alike."""

import functools
import statistics
import time

import jax
import jax.numpy as jnp

_ROUNDS = 500


def time_norms(norms, shape, dtype):
  """Returns the median seconds of a forward and of a backward call.

  Args:
    norms: the norms by name, as `language_model.logits` wants them.
    shape: of the array that is normalized.
    dtype: of that array and of the scale.

  Returns:
    Two dicts from name to seconds: forward, backward from kept residuals.
  """
  x, dy = jax.random.normal(jax.random.key(0), (2, *shape), dtype)
  scale = jnp.ones(shape[-1:], dtype)
  forward, backward = {}, {}
  for name, norm in norms.items():
    forward[name] = functools.partial(jax.jit(norm), x, scale)
    _, pullback = jax.jit(functools.partial(jax.vjp, norm))(x, scale)
    backward[name] = functools.partial(jax.jit(_pull), pullback, dy)
  return _medians(forward), _medians(backward)


def _pull(pullback, dy):
  return pullback(dy)


def _medians(calls):
  seconds = {name: [] for name in calls}
  for _ in range(_ROUNDS):
    for name, call in calls.items():
      start = time.perf_counter()
      jax.block_until_ready(call())
      seconds[name].append(time.perf_counter() - start)
  return {name: statistics.median(each) for name, each in seconds.items()}
