# SPDX-License-Identifier: Apache-2.0
"""Whole programs whose small matrices are factored, solved or decomposed.

bazel run //benchmarks:matrices_benchmark -- --batch=1000

Each is timed forward and with its gradient: with the functions of
jax_ffi_ops.linalg, with those of jax.numpy.linalg, and with the latter where
jax_ffi_ops.compile makes one kernel of the program. Printed are medians of
milliseconds, and of the speed-ups in each round.
"""

import argparse
from collections.abc import Callable, Sequence
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import linalg
from jax_ffi_ops.timing import rounds

_STEPS = 20


def mass_matrix(lib: Any, q: jax.Array, force: jax.Array) -> jax.Array:
  """Accelerations of a planar arm of 7 links: M(q) q'' = force.

  M is the sum of J^T J over the links' masses, J the Jacobian of each mass
  (jax#26021).
  """
  angles = jnp.cumsum(q)
  ends = jnp.stack([-jnp.sin(angles), jnp.cos(angles)])
  # Of the mass at the end of each link, by the joints up to it: [2, 7, 7].
  carried = jnp.cumsum(ends[:, ::-1], axis=1)[:, ::-1]
  jacobian = carried[:, None, :] * jnp.tri(len(q))
  mass = jnp.einsum("amj,amk->jk", jacobian, jacobian) + 0.1 * jnp.eye(len(q))
  return lib.solve(mass, force)


def mpc_step(lib: Any, a: jax.Array, b: jax.Array) -> jax.Array:
  """The first gains of a linear-quadratic regulator, [inputs, states]."""

  def gains(p):
    bp = b.T @ p
    return lib.solve(jnp.eye(b.shape[1]) + bp @ b, bp @ a)

  def step(p, _):
    p = jnp.eye(len(a)) + a.T @ p @ (a - b @ gains(p))
    return (p + p.T) / 2, None

  return gains(jax.lax.scan(step, jnp.eye(len(a)), length=_STEPS)[0])


def registration(lib: Any, cloud: jax.Array, target: jax.Array) -> jax.Array:
  """A step of iterative closest points: a cloud, [points, 3], turned."""
  apart = jnp.sum((cloud[:, None] - target[None]) ** 2, axis=-1)
  matched = target[jnp.argmin(apart, axis=1)]
  own, other = (x - jnp.mean(x, axis=0) for x in (cloud, matched))
  u, _, vt = lib.svd(own.T @ other)
  vt = vt * jnp.stack([1, 1, jnp.sign(lib.det(u @ vt))])[:, None]
  return own @ (u @ vt) + jnp.mean(matched, axis=0)


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
  cloud, noise = _draw((batch, 24, 3), (batch, 24, 3))
  return [cloud, cloud + noise / 20]


PROGRAMS = {
    program.__name__: program
    for program in (mass_matrix, mpc_step, registration)
}
LIBRARIES = {"jax.numpy.linalg": jnp.linalg, "jax_ffi_ops.linalg": linalg}
COMPILED = "jax_ffi_ops.compile"


def function(name: str, library: str, gradient: bool) -> Callable[..., Any]:
  """Returns a program of a batch, or the gradient of a sum of its results."""
  run = functools.partial(PROGRAMS[name], LIBRARIES.get(library, jnp.linalg))
  if library == COMPILED:
    run = jax_ffi_ops.compile(run)
  run = jax.vmap(run)
  if not gradient:
    return jax.jit(run)
  total = lambda *arrays: sum(
      jnp.sum(x**2) for x in jax.tree.leaves(run(*arrays))
  )
  return jax.jit(jax.grad(total, (0, 1)))


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--batch", type=int, default=1000)
  parser.add_argument("--rounds", type=int, default=9)
  options = parser.parse_args()
  for name in PROGRAMS:
    arrays = operands(name, options.batch)
    for gradient in (False, True):
      calls = {
          x: functools.partial(function(name, x, gradient), *arrays)
          for x in (*LIBRARIES, COMPILED)
      }
      print(name + " gradient" * gradient)
      for x, timing in rounds.of_calls(calls, options.rounds).items():
        _, seconds, _ = timing.seconds
        print(f"  {x} {1e3 * seconds:.2f} ms, {1 / timing.speedup[1]:.2f}×")


if __name__ == "__main__":
  main()
