# SPDX-License-Identifier: Apache-2.0
"""A walk that changes a few places of a large table and reads another one."""

import pathlib

from jax import lax
import jax.numpy as jnp

from jax_ffi_ops import kit


def reference(table, weights, places):
  def step(carry, place):
    table, total = carry
    total = jnp.sin(total + weights[place] + weights[place + 1])
    table = lax.cond(
        total > 0,
        lambda x: x.at[place].multiply(x[place - 1] + total),
        lambda x: x,
        table,
    )
    table = lax.fori_loop(0, 2, lambda j, x: x.at[j].add(x[place]), table)
    return (table, total), total

  carry, totals = lax.scan(step, (table, jnp.zeros_like(table[0])), places)
  return carry[0], totals


visits = kit.op(
    "visits",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libvisits_ext.so"), prefix="loops_"
    ),
    signature="(n),(n),(t)->(n),(t)",
    reference=reference,
    operands=("table", "weights", "places"),
    dtypes={
        "table": ("float32",),
        "weights": ("float32",),
        "places": ("int32",),
    },
)
