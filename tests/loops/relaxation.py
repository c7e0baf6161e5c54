# SPDX-License-Identifier: Apache-2.0
"""Relaxation of a line of values: a loop with attributes."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit


def _relaxation(x, *, steps, weight):
  """Moves each value of x [n] towards its neighbors, `steps` times.

  Also returns the largest value before each step.
  """

  def step(x, _):
    # The first and the last are neighbors.
    mean = 0.5 * (jnp.roll(x, 1) + jnp.roll(x, -1))
    return x + weight * (mean - x), jnp.max(x)

  return jax.lax.scan(step, x, length=steps)


relaxation = kit.op(
    "relaxation",
    library=kit.Library(
        pathlib.Path(__file__).with_name("librelaxation_ext.so"),
        prefix="loops_",
    ),
    signature="(n)->(n),(steps)",
    reference=_relaxation,
    attributes={
        "steps": kit.Attribute(np.int64, minimum=0),
        "weight": np.float32,
    },
    dtypes=("float32",),
)
