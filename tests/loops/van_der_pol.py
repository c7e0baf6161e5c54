# SPDX-License-Identifier: Apache-2.0
"""Van der Pol's oscillator, by Bogacki and Shampine's method.

The method chooses how long its steps are: P. Bogacki, L. Shampine, "A 3(2) pair
of Runge-Kutta formulas", 1989.
"""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit

_TOLERANCE = 1e-4
_MOST_STEPS = 100_000


def _van_der_pol(y, mu, end):
  """Solves x'' = mu (1 - x^2) x' - x from y = [x, x'] until `end`.

  A step is of third order. Another one, of second order, tells how far it may
  be from the solution. If that is little, the step is taken. The next one is as
  long as an error of the tolerance allows.
  """

  def slope(y):
    return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

  def goes_on(state):
    count, t, _, _ = state
    return (t < end) & (count < _MOST_STEPS)

  def step(state):
    count, t, dt, y = state
    dt = jnp.minimum(dt, end - t)
    k1 = slope(y)
    k2 = slope(y + dt / 2 * k1)
    k3 = slope(y + dt * 3 / 4 * k2)
    new = y + dt / 9 * (2 * k1 + 3 * k2 + 4 * k3)
    apart = dt / 72 * (-5 * k1 + 6 * k2 + 8 * k3 - 9 * slope(new))
    scale = _TOLERANCE * (1 + jnp.maximum(jnp.abs(y), jnp.abs(new)))
    error = jnp.sqrt(jnp.mean((apart / scale) ** 2))
    takes = error <= 1
    t = jnp.where(takes, jnp.where(dt >= end - t, end, t + dt), t)
    longer = jnp.clip(0.9 * (error + 1e-6) ** (-1 / 3), 0.2, 5.0)
    return count + 1, t, dt * longer, jnp.where(takes, new, y)

  start = (jnp.int32(0), jnp.zeros_like(end), end * 1e-3, y)
  return jax.lax.while_loop(goes_on, step, start)[3]


van_der_pol = kit.op(
    "van_der_pol",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libvan_der_pol_ext.so"),
        prefix="loops_",
    ),
    signature="(2),(),()->(2)",
    reference=_van_der_pol,
    outputs=("last",),
    dtypes=("float32",),
)
