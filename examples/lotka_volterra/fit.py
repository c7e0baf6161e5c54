# SPDX-License-Identifier: Apache-2.0
"""Fits rates to counts of animals by gradient, many fits at once.

bazel run //examples/lotka_volterra:fit -- --save=/tmp/lotka_volterra.svg
"""

from collections.abc import Callable
import functools

import comparison
import jax
import jax.numpy as jnp
from lotka_volterra import lotka_volterra
from lotka_volterra import reference
import numpy as np

RATES = np.float32([1.0, 0.1, 0.05, 0.8])
_START = np.float32([20, 5])
_DTS = np.full(1000, 0.02, np.float32)
SOLVERS = {
    "handler": lotka_volterra,
    "jax": jax.vmap(reference),
}


def counts(fits: int, seed: int = 0) -> jax.Array:
  """Returns [fits, t, 2]: what someone counts who is 5 % off."""
  truth = reference(_START, RATES, _DTS)
  noise = np.random.default_rng(seed).normal(size=(fits, *truth.shape))
  return truth * (1 + 0.05 * np.float32(noise))


def loss(logs: jax.Array, counted: jax.Array, solve: Callable) -> jax.Array:
  """Returns the sum over fits of the mean square of relative errors."""
  fits = len(logs)
  start = jnp.broadcast_to(_START, (fits, 2))
  dts = jnp.broadcast_to(_DTS, (fits, len(_DTS)))
  found = solve(start, jnp.exp(logs), dts)
  return jnp.mean(jnp.square(jnp.log(found / counted)), (1, 2)).sum()


@functools.partial(jax.jit, static_argnames="solve")
def step(logs, moments, counted, *, solve):
  """One step of Adam on the logarithms of the rates."""
  first, second, count = moments
  gradient = jax.grad(loss)(logs, counted, solve)
  count = count + 1
  first = 0.9 * first + 0.1 * gradient
  second = 0.99 * second + 0.01 * gradient**2
  rate = 0.02 / (1 - 0.9**count)
  change = rate * first / (jnp.sqrt(second / (1 - 0.99**count)) + 1e-8)
  return logs - change, (first, second, count)


def fit(counted: jax.Array, steps: int, solve: Callable) -> np.ndarray:
  """Returns the rates of each fit."""
  logs = jnp.zeros((len(counted), 4)) + np.log(1.2 * RATES)
  moments = (jnp.zeros_like(logs), jnp.zeros_like(logs), 0)
  for _ in range(steps):
    logs, moments = step(logs, moments, counted, solve=solve)
  return np.exp(logs)


def times(fits: int, rounds: int) -> dict[str, float]:
  """Returns the median time of a step, in milliseconds."""
  logs = jnp.zeros((fits, 4)) + np.log(RATES)
  start = (
      logs,
      (jnp.zeros_like(logs), jnp.zeros_like(logs), 0),
      counts(fits),
  )
  return comparison.times(
      {
          name: functools.partial(step, solve=solve)
          for name, solve in SOLVERS.items()
      },
      lambda _: start,
      rounds,
  )


if __name__ == "__main__":
  comparison.main(
      times,
      "1,4,16,64,256",
      title="A step of fits to 1000 steps of an ODE",
      size="fits",
  )
  found = fit(counts(4), steps=200, solve=lotka_volterra)
  print("rates that are to be found:", RATES)
  print("mean of 4 fits:            ", found.mean(0).round(4))
