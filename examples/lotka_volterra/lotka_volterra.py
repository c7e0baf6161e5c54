# SPDX-License-Identifier: Apache-2.0
"""The op: hares and lynxes, by the equations of Lotka and Volterra."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def reference(y, rates, dts):
  """Returns hares and lynxes after each step.

  Steps are those of the classical method of Runge and Kutta, of order 4.

  Args:
    y: [2], hares and lynxes at the start.
    rates: [4], births of hares, how many lynxes eat, births of lynxes by that,
      deaths of lynxes.
    dts: [t], the lengths of the steps.
  """
  births, eaten, born, deaths = rates

  def slope(y):
    hares, lynxes = y
    met = hares * lynxes
    return jnp.stack(
        [
            births * hares - eaten * met,
            born * met - deaths * lynxes,
        ]
    )

  def step(y, dt):
    k1 = slope(y)
    k2 = slope(y + dt / 2 * k1)
    k3 = slope(y + dt / 2 * k2)
    k4 = slope(y + dt * k3)
    y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y, y

  return jax.lax.scan(step, y, dts)[1]


lotka_volterra = kit.op(
    "lotka_volterra",
    library=kit.Library(
        pathlib.Path(__file__).with_name("liblotka_volterra_ext.so"),
        prefix="example_",
    ),
    signature="(2),(4),(t)->(t,2)",
    reference=reference,
    dtypes=("float32",),
)
