# SPDX-License-Identifier: Apache-2.0
"""A random walk of Metropolis over a bent Gaussian."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def log_density(x):
  return -0.5 * (x[0] ** 2 / 4 + (x[1] - 0.5 * x[0] ** 2) ** 2)


def reference(key, x, widths):
  """Returns where the walk is after each step, of the widths [t]."""

  def step(carry, width):
    key, x, density = carry
    key, of_proposal, of_choice = jax.random.split(key, 3)
    proposal = x + width * jax.random.normal(of_proposal, (2,), x.dtype)
    other = log_density(proposal)
    choice = jax.random.uniform(of_choice, (), x.dtype)
    takes = jnp.log(choice) < other - density
    x = jnp.where(takes, proposal, x)
    return (key, x, jnp.where(takes, other, density)), x

  return jax.lax.scan(step, (key, x, log_density(x)), widths)[1]


metropolis = kit.op(
    "metropolis",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libmetropolis_ext.so"),
        prefix="loops_",
    ),
    signature="(2),(2),(t)->(t,2)",
    reference=reference,
    dtypes={"key": ("uint32",), "x": ("float32",), "widths": "x"},
)
