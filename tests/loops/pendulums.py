# SPDX-License-Identifier: Apache-2.0
"""A chain of pendulums in a plane, by semi-implicit steps of Euler."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def _pendulums(angles, velocities, lengths, dts):
  """Returns the last angles, each against the vertical.

  All bobs weigh 1. Lagrange's equations are m(a) a'' = -(n(a) a'^2 + g(a)) with
  a matrix m of the bobs below, lengths and cosines.

  Args:
    angles: [n].
    velocities: [n].
    lengths: [n], of rods without mass.
    dts: [t], the lengths of the steps.
  """
  n = angles.shape[0]
  order = jnp.arange(n)
  below = (n - jnp.maximum(order[:, None], order)).astype(lengths.dtype)
  inertia = below * lengths[:, None] * lengths
  weight = 9.81 * jnp.diagonal(below) * lengths

  def step(state, dt):
    a, v = state
    between = a[:, None] - a
    force = (inertia * jnp.sin(between)) @ v**2 + weight * jnp.sin(a)
    factor = jnp.linalg.cholesky(inertia * jnp.cos(between))
    v = v - dt * jax.scipy.linalg.cho_solve((factor, True), force)
    return (a + dt * v, v), None

  return jax.lax.scan(step, (angles, velocities), dts)[0][0]


pendulums = kit.op(
    "pendulums",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libpendulums_ext.so"),
        prefix="loops_",
    ),
    signature="(n),(n),(n),(t)->(n)",
    reference=_pendulums,
    outputs=("last",),
    dtypes=("float32",),
)
