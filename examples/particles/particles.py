# SPDX-License-Identifier: Apache-2.0
"""A flock: particles that turn to where those around them go.

  bazel run //examples/particles -- --save=/tmp/particles.svg

Each step sorts the particles by the cell of a grid that they are in, so that
those of a cell follow each other in memory, and adds up their headings. It is
timed with jax_ffi_ops.argsort and with jax.numpy.argsort.

The model: Vicsek and others, Novel Type of Phase Transition in a System of
Self-Driven Particles, 1995 (arXiv:cond-mat/0611743), with cells in place of
circles.
"""

from collections.abc import Callable
import functools
import math
from typing import NamedTuple

import comparison
import jax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops

_PER_CELL = 8  # particles, on average
_SPEED = 0.1  # cells per step
_NOISE = 1.0  # the width of its distribution, in radians
ARGSORTS = {
    "jax_ffi_ops.argsort": jax_ffi_ops.argsort,
    "jax.numpy.argsort": jnp.argsort,
}


class Flock(NamedTuple):
  """Particles in a square of side 1, whose opposite sides are one.

  Attributes:
    position: [n, 2], from 0 to 1.
    angle: [n], where they go, in radians.
  """

  position: jax.Array
  angle: jax.Array

  @classmethod
  def random(cls, n: int, seed: int = 0) -> "Flock":
    position, angle = jax.random.split(jax.random.key(seed))
    return cls(
        jax.random.uniform(position, (n, 2)),
        jax.random.uniform(angle, (n,), maxval=2 * np.pi),
    )

  @property
  def order(self) -> jax.Array:
    """The length of the mean heading: 1, if all go the same way."""
    return jnp.linalg.norm(jnp.mean(_heading(self.angle), 0))


def _heading(angle):
  return jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)


@functools.partial(jax.jit, static_argnames="argsort")
def step(
    flock: Flock, key: jax.Array, *, argsort: Callable[..., jax.Array]
) -> Flock:
  """Returns the flock after a step, sorted by cells."""
  n = len(flock.angle)
  side = math.isqrt(max(1, n // _PER_CELL))
  column, row = jnp.minimum(flock.position * side, side - 1).astype(int).T
  cell = row * side + column
  order = argsort(cell)
  cell, position, angle = cell[order], flock.position[order], flock.angle[order]
  sums = jax.ops.segment_sum(
      _heading(angle), cell, side * side, indices_are_sorted=True
  )
  x, y = sums[cell].T
  angle = jnp.arctan2(y, x) + _NOISE * jax.random.uniform(
      key, (n,), minval=-0.5, maxval=0.5
  )
  position = (position + _SPEED / side * _heading(angle)) % 1
  return Flock(position, angle)


def times(n: int, rounds: int) -> dict[str, float]:
  """Returns the median time of a step, in milliseconds."""
  keys = jax.random.split(jax.random.key(1), rounds + 1)
  return comparison.times(
      {
          name: functools.partial(step, argsort=argsort)
          for name, argsort in ARGSORTS.items()
      },
      lambda i: (Flock.random(n, seed=i), keys[i]),
      rounds,
  )


if __name__ == "__main__":
  comparison.main(
      times,
      "1024,8192,65536,262144,1048576",
      title="A step of a flock",
      size="particles",
  )
