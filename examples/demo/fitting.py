# SPDX-License-Identifier: Apache-2.0
"""Finds the scales of a model from many starts at once."""

from collections.abc import Callable
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

import model


class Fit(NamedTuple):
  """What was found.

  Attributes:
    scales: one of each for each start.
    losses: minus the log-likelihood per week, [steps, starts].
  """

  scales: model.Scales
  losses: jax.Array


def starts(n: int) -> model.Scales:
  """Returns random scales: from thousandths of a ppm to some ppm."""
  keys = jax.random.split(jax.random.key(0), 4)
  low, high = (-3.0, -6.0, -9.0, -6.0), (1.0, 0.0, -3.0, 0.0)
  drawn = (
      jax.random.uniform(key, (n,), minval=a, maxval=b)
      for key, a, b in zip(keys, low, high)
  )
  return model.Scales(*drawn)


@functools.partial(jax.jit, static_argnums=(0, 3))
def fit(
    log_likelihood: Callable[..., Any],
    first: model.Scales,
    series: jax.Array,
    steps: int,
) -> Fit:
  """Goes down the gradient by Adam."""

  def loss(scales):
    return -log_likelihood(scales, series)[0] / jnp.sum(~jnp.isnan(series))

  gradients = jax.vmap(jax.value_and_grad(loss))
  adam = optax.adam(0.1)

  def step(state, _):
    scales, moments = state
    losses, gradient = gradients(scales)
    updates, moments = adam.update(gradient, moments)
    return (optax.apply_updates(scales, updates), moments), losses

  (scales, _), losses = jax.lax.scan(
      step, (first, adam.init(first)), length=steps
  )
  return Fit(scales, losses)
