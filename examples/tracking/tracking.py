# SPDX-License-Identifier: Apache-2.0
"""Radar tracks of many targets, each with an extended Kalman filter of its own.

  bazel run //examples/tracking -- --save=/tmp/tracking.svg

Each step solves a system of 3 equations for every target. It is timed with
jax.numpy.linalg.solve, with jax_ffi_ops.linalg.solve, and compiled to one kernel
by jax_ffi_ops.compile.

The filter: Bar-Shalom, Li and Kirubarajan, Estimation with Applications to
Tracking and Navigation, 2001, section 10.3; positions and velocities in space,
of which a radar sees distance, azimuth and elevation.
"""

from collections.abc import Callable
import functools

import comparison
import jax
import jax.numpy as jnp

import jax_ffi_ops
from jax_ffi_ops import linalg

_SECONDS = 0.1  # between two observations
_STEPS = 50
_SPREADS = (0.5, 0.01, 0.01)  # of observations: meters, and radians
_ACCELERATION = 0.3  # the spread of what targets do, in meters per second^2


def _motion():
  """Returns how a state, [6], goes on, and the covariance that this adds."""
  one = jnp.eye(3)
  move = jnp.eye(6) + _SECONDS * jnp.eye(6, k=3)
  push = jnp.concatenate([_SECONDS**2 / 2 * one, _SECONDS * one])
  return move, _ACCELERATION**2 * push @ push.T


def observed(x: jax.Array) -> jax.Array:
  """Returns the distance, azimuth and elevation of a state."""
  flat = jnp.sqrt(x[0] ** 2 + x[1] ** 2)
  distance = jnp.sqrt(flat**2 + x[2] ** 2)
  return jnp.stack([distance, jnp.arctan2(x[1], x[0]), jnp.arctan2(x[2], flat)])


def filtered(
    solve: Callable[[jax.Array, jax.Array], jax.Array],
    start: jax.Array,
    seen: jax.Array,
) -> tuple[jax.Array, jax.Array]:
  """Returns the state after the observations of a target, and its covariance.

  Args:
    solve: a function like jax.numpy.linalg.solve.
    start: where the target may be, and how fast: [6].
    seen: its observations, [steps, 3].
  """
  move, pushed = _motion()
  noise = jnp.diag(jnp.square(jnp.array(_SPREADS)))

  def step(carry, z):
    x, p = carry
    x, p = move @ x, move @ p @ move.T + pushed
    h = jax.jacfwd(observed)(x)
    hp = h @ p
    gain = solve(hp @ h.T + noise, hp).T
    return (x + gain @ (z - observed(x)), p - gain @ hp), None

  return jax.lax.scan(step, (start, jnp.eye(6)), seen)[0]


def problem(
    key: jax.Array, targets: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Returns guesses [targets, 6], observations, and the last states."""
  keys = jax.random.split(key, 4)
  center = jnp.array([60.0, 60, 20, 0, 0, 0])
  x = center + 5 * jax.random.normal(keys[0], (targets, 6))
  guess = x + jax.random.normal(keys[1], x.shape)
  move, _ = _motion()
  push = _ACCELERATION * jax.random.normal(keys[2], (_STEPS, targets, 3))

  def step(x, a):
    x = x @ move.T
    x = x + jnp.concatenate([_SECONDS**2 / 2 * a, _SECONDS * a], axis=1)
    return x, jax.vmap(observed)(x)

  x, seen = jax.lax.scan(step, x, push)
  noise = jax.random.normal(keys[3], seen.shape) * jnp.array(_SPREADS)
  return guess, jnp.swapaxes(seen + noise, 0, 1), x


def _of_many(track):
  return jax.jit(jax.vmap(track))


TRACKERS = {
    "jax_ffi_ops.compile": _of_many(
        jax_ffi_ops.compile(functools.partial(filtered, jnp.linalg.solve))
    ),
    "jax_ffi_ops.linalg.solve": _of_many(
        functools.partial(filtered, linalg.solve)
    ),
    "jax.numpy.linalg.solve": _of_many(
        functools.partial(filtered, jnp.linalg.solve)
    ),
}


def times(n: int, rounds: int) -> dict[str, float]:
  """Returns the median time of all steps of n targets, in milliseconds."""
  keys = jax.random.split(jax.random.key(1), rounds + 1)
  return comparison.times(TRACKERS, lambda i: problem(keys[i], n)[:2], rounds)


if __name__ == "__main__":
  comparison.main(
      times,
      "16,128,1024,8192",
      title=f"{_STEPS} steps of extended Kalman filters",
      size="targets",
  )
