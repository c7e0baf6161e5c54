# SPDX-License-Identifier: Apache-2.0
"""Whole programs whose small matrices are factored, solved or decomposed.

bazel run //benchmarks:matrix_programs -- --batch=1000

Each is timed twice, forward and with its gradient: with the functions of
jax_ffi_ops.linalg, and with those of jax.numpy.linalg. The median of the time,
and of the ratio in each round, is printed.
"""

import argparse
from collections.abc import Callable, Sequence
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import linalg

_STEPS = 20


def mass_matrix(lib: Any, q: jax.Array, force: jax.Array) -> jax.Array:
  """Accelerations of a planar arm of 7 links: M(q) q'' = force.

  M is the sum of J^T J over the links' masses, J the Jacobian of each mass
  (jax#26021).
  """
  n = q.shape[-1]
  angles = jnp.cumsum(q, axis=-1)
  before = jnp.tril(jnp.ones((n, n)))  # which links carry which mass
  ends = jnp.stack([-jnp.sin(angles), jnp.cos(angles)], axis=-2)
  # jacobian[..., mass, axis, joint]
  carried = before[:, None, :, None] * before.T[None, None, :, :].mT
  jacobian = jnp.einsum("...al,mxlj->...maj", ends, carried)
  mass = jnp.einsum("...maj,...mak->...jk", jacobian, jacobian)
  mass = mass + 0.1 * jnp.eye(n)
  return lib.solve(mass, force[..., None])[..., 0]


def mpc_step(lib: Any, a: jax.Array, b: jax.Array) -> jax.Array:
  """First gains of a linear-quadratic regulator of 6 states and 3 inputs."""

  def step(p, _):
    bp = b.mT @ p
    gain = lib.solve(jnp.eye(b.shape[-1]) + bp @ b, bp @ a)
    p = jnp.eye(a.shape[-1]) + a.mT @ p @ (a - b @ gain)
    return (p + p.mT) / 2, None

  start = jnp.broadcast_to(jnp.eye(a.shape[-1]), a.shape)
  p = jax.lax.scan(step, start, length=_STEPS)[0]
  bp = b.mT @ p
  return lib.solve(jnp.eye(b.shape[-1]) + bp @ b, bp @ a)


def kalman_filter(
    lib: Any, start: jax.Array, seen: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """An extended Kalman filter of positions and velocities, seen by a radar.

  Returns the last state, [..., 6], and its covariance.
  """
  n = start.shape[-1]
  move = jnp.eye(n) + 0.1 * jnp.eye(n, k=3)

  def observe(x):
    return jnp.stack(
        [
            jnp.sqrt(jnp.sum(x[:3] ** 2)),
            jnp.arctan2(x[1], x[0]),
            jnp.arctan2(x[2], jnp.hypot(x[0], x[1])),
        ]
    )

  def step(carry, z):
    x, p = carry
    x, p = x @ move.T, move @ p @ move.T + 0.01 * jnp.eye(n)
    h = jax.vmap(jax.jacfwd(observe))(x)
    hp = h @ p
    gain = lib.solve(hp @ h.mT + 0.01 * jnp.eye(3), hp).mT
    off = z - jax.vmap(observe)(x)
    x = x + (gain @ off[..., None])[..., 0]
    return (x, p - gain @ hp), None

  p = jnp.broadcast_to(jnp.eye(n), (*start.shape, n))
  return jax.lax.scan(step, (start, p), seen)[0]


def registration(lib: Any, cloud: jax.Array, target: jax.Array) -> jax.Array:
  """A step of iterative closest points: clouds, [..., points, 3], turned."""
  apart = jnp.sum((cloud[..., :, None, :] - target[..., None, :, :]) ** 2, -1)
  nearest = jnp.argmin(apart, axis=-1)[..., None]
  matched = jnp.take_along_axis(target, nearest, axis=-2)
  centers = [jnp.mean(x, axis=-2, keepdims=True) for x in (cloud, matched)]
  u, _, vt = lib.svd((cloud - centers[0]).mT @ (matched - centers[1]))
  sign = jnp.sign(lib.det(u @ vt))[..., None, None]
  vt = vt * jnp.where(jnp.arange(3)[:, None] == 2, sign, 1)
  return (cloud - centers[0]) @ (u @ vt) + centers[1]


def _draw(*shapes: Sequence[int]) -> list[jax.Array]:
  rng = np.random.default_rng(0)
  return [jnp.asarray(rng.normal(size=s), jnp.float32) for s in shapes]


def operands(name: str, batch: int) -> list[jax.Array]:
  """Returns what a program is called with besides the library."""
  if name == "mass_matrix":
    return _draw((batch, 7), (batch, 7))
  if name == "mpc_step":
    a, b = _draw((batch, 6, 6), (batch, 6, 3))
    return [0.4 * a, b]
  if name == "kalman_filter":
    start, noise = _draw((batch, 6), (_STEPS, batch, 3))
    return [start + 5, jnp.abs(5 + noise / 10)]
  cloud, noise = _draw((batch, 24, 3), (batch, 24, 3))
  return [cloud, cloud + noise / 20]


PROGRAMS = {
    program.__name__: program
    for program in (mass_matrix, mpc_step, kalman_filter, registration)
}
LIBRARIES = {"jax_ffi_ops.linalg": linalg, "jax.numpy.linalg": jnp.linalg}


def function(name: str, library: str, gradient: bool) -> Callable[..., Any]:
  """Returns a program, compiled, or the gradient of a sum of its results."""
  lib = LIBRARIES[library]
  run = lambda *arrays: PROGRAMS[name](lib, *arrays)
  if not gradient:
    return jax.jit(run)
  total = lambda *arrays: sum(
      jnp.sum(x**2) for x in jax.tree.leaves(run(*arrays))
  )
  return jax.jit(jax.grad(total, (0, 1)))


def times(
    name: str, batch: int, gradient: bool, rounds: int
) -> dict[str, list[float]]:
  """Returns the milliseconds of each round, by library, in turns."""
  arrays = operands(name, batch)
  runs = {x: function(name, x, gradient) for x in LIBRARIES}
  found = {x: [] for x in runs}
  for _ in range(rounds + 1):
    for x, run in runs.items():
      start = time.perf_counter()
      jax.block_until_ready(run(*arrays))
      found[x].append(1e3 * (time.perf_counter() - start))
  return {x: ms[1:] for x, ms in found.items()}  # The first one compiled.


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--batch", type=int, default=1000)
  parser.add_argument("--rounds", type=int, default=9)
  options = parser.parse_args()
  for name in PROGRAMS:
    for gradient in (False, True):
      found = times(name, options.batch, gradient, options.rounds)
      ours, theirs = found.values()
      ratio = statistics.median(t / o for o, t in zip(ours, theirs))
      medians = " ".join(
          f"{x} {statistics.median(ms):.2f} ms" for x, ms in found.items()
      )
      print(f"{name}{' gradient' * gradient}: {medians}, {ratio:.2f}×")


if __name__ == "__main__":
  main()
