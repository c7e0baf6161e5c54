# SPDX-License-Identifier: Apache-2.0
"""Times the norms against each other, in turns: noise slows all alike."""

import functools

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing import rounds

_ROUNDS = 100


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
  samplers = {
      name: rounds.waited(call, jax.block_until_ready)
      for name, call in calls.items()
  }
  timings = rounds.interleave(samplers, _ROUNDS)
  return {name: timing.seconds[1] for name, timing in timings.items()}
