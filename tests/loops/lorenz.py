# SPDX-License-Identifier: Apache-2.0
"""Runge-Kutta steps of the Lorenz equations."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def runge_kutta(f, y, dt):
  """Returns y after one step of the classical method of order 4."""
  k1 = f(y)
  k2 = f(y + dt / 2 * k1)
  k3 = f(y + dt / 2 * k2)
  k4 = f(y + dt * k3)
  return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def reference(y, parameters, dts):
  """Goes from y [3] by the steps dts [t]; parameters: sigma, rho and beta."""
  sigma, rho, beta = parameters

  def f(y):
    a, b, c = y
    return jnp.stack([sigma * (b - a), a * (rho - c) - b, a * b - beta * c])

  return jax.lax.scan(lambda y, dt: (runge_kutta(f, y, dt), None), y, dts)[0]


lorenz = kit.op(
    "lorenz",
    library=kit.Library(
        pathlib.Path(__file__).with_name("liblorenz_ext.so"), prefix="loops_"
    ),
    signature="(3),(3),(t)->(3)",
    reference=reference,
    dtypes=("float32", "float64"),
)
