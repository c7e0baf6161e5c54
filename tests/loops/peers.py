# SPDX-License-Identifier: Apache-2.0
"""Other ways to write the loops of the benchmark in jax, NumPy and numba.

Those of jax take one row, as references do; those of NumPy and numba take all.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

try:
  import numba
except ImportError:
  numba = None


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


def _lorenz_loop(y, parameters, dts):
  out = np.empty_like(y)
  for row in range(len(y)):
    sigma, rho, beta = parameters[row]
    a, b, c = y[row]
    for dt in dts[row]:
      a1, b1, c1 = sigma * (b - a), a * (rho - c) - b, a * b - beta * c
      u, v, w = a + dt / 2 * a1, b + dt / 2 * b1, c + dt / 2 * c1
      a2, b2, c2 = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
      u, v, w = a + dt / 2 * a2, b + dt / 2 * b2, c + dt / 2 * c2
      a3, b3, c3 = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
      u, v, w = a + dt * a3, b + dt * b3, c + dt * c3
      a4, b4, c4 = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
      a += dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
      b += dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
      c += dt / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
    out[row, 0], out[row, 1], out[row, 2] = a, b, c
  return out


def _needleman_wunsch_loop(scores, gap):
  found = np.empty(len(scores), scores.dtype)
  for row in range(len(scores)):
    above = gap[row] * np.arange(scores.shape[2] + 1).astype(scores.dtype)
    for i in range(scores.shape[1]):
      diagonal = above[0]
      above[0] += gap[row]
      for j in range(scores.shape[2]):
        up = above[j + 1]
        skipped = max(up, above[j]) + gap[row]
        above[j + 1] = max(skipped, diagonal + scores[row, i, j])
        diagonal = up
    found[row] = above[-1]
  return found


def by_numba() -> dict[str, Callable[..., np.ndarray]]:
  """Returns loops that numba compiles, if it is there."""
  if numba is None:
    return {}
  loops = {
      "lorenz": _lorenz_loop,
      "needleman_wunsch": _needleman_wunsch_loop,
  }
  return {name: numba.njit(loop) for name, loop in loops.items()}
