# SPDX-License-Identifier: Apache-2.0
"""Other ways to write the loops of the benchmark in jax and NumPy.

Those of jax take one row, as references do; those of NumPy take all.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np


def _lorenz_scalars(y, parameters, dts):
  sigma, rho, beta = parameters

  def slope(a, b, c):
    return sigma * (b - a), a * (rho - c) - b, a * b - beta * c

  def step(y, dt):
    after = lambda k, by: [a + by * b for a, b in zip(y, k)]
    k1 = slope(*y)
    k2 = slope(*after(k1, dt / 2))
    k3 = slope(*after(k2, dt / 2))
    k4 = slope(*after(k3, dt))
    sums = [a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4)]
    return tuple(after(sums, dt / 6)), None

  return jnp.stack(jax.lax.scan(step, tuple(y), dts)[0])


def _hmm_associative(start, transitions, observations):
  """Products of matrices in pairs: more work, and less of it in a row."""
  product = lambda a, b: jax.nn.logsumexp(
      a[..., :, :, None] + b[..., None, :, :], axis=-2
  )
  steps = transitions + observations[:, None, :]
  whole = jax.lax.associative_scan(product, steps)[-1]
  return jax.nn.logsumexp(start[:, None] + whole)


def _gru_hoisted(state, xs, of_input, of_state, bias):
  """The products of the inputs come before the loop."""

  def step(state, own):
    old = jnp.einsum("x,gxh->gh", state, of_state)
    reset = jax.nn.sigmoid(own[0] + old[0])
    update = jax.nn.sigmoid(own[1] + old[1])
    candidate = jnp.tanh(own[2] + reset * old[2])
    return update * state + (1 - update) * candidate, None

  own = jnp.einsum("tx,gxh->tgh", xs, of_input) + bias
  return jax.lax.scan(step, state, own)[0]


JAX: dict[str, Callable[..., jax.Array]] = {
    "gru": _gru_hoisted,
    "hmm": _hmm_associative,
    "lorenz": _lorenz_scalars,
}


def _lorenz_numpy(y, parameters, dts):
  sigma, rho, beta = parameters.T

  def slope(y):
    a, b, c = y
    return np.stack([sigma * (b - a), a * (rho - c) - b, a * b - beta * c])

  y = y.T
  for dt in dts.T:
    k1 = slope(y)
    k2 = slope(y + dt / 2 * k1)
    k3 = slope(y + dt / 2 * k2)
    k4 = slope(y + dt * k3)
    y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
  return y.T


def _kalman_numpy(ys, mean, cov, a, c, q, r):
  for y in np.moveaxis(ys, 1, 0):
    mean, cov = mean @ a.T, a @ cov @ a.T + q
    gain = cov @ c.T @ np.linalg.inv(c @ cov @ c.T + r)
    error = y - mean @ c.T
    mean = mean + (gain @ error[..., None])[..., 0]
    cov = cov - gain @ c @ cov
  return mean


NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "kalman": _kalman_numpy,
    "lorenz": _lorenz_numpy,
}
