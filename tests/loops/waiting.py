# SPDX-License-Identifier: Apache-2.0
"""A loop inside a loop, which would never end in rows that have left."""

import pathlib

from jax import lax
import jax.numpy as jnp

from jax_ffi_ops import kit


def _reference(n):
  def wait(total, step):
    return lax.while_loop(lambda x: x < total + 1, lambda x: x + step, total)

  def outer(state):
    i, total = state
    # Once i is n, the inner loop would stand still.
    return i + 1, wait(total, jnp.where(i < n, 0.25, 0))

  start = jnp.int32(0), jnp.float32(0)
  return lax.while_loop(lambda state: state[0] < n, outer, start)[1]


waiting = kit.op(
    "waiting",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libwaiting_ext.so"), prefix="loops_"
    ),
    signature="()->()",
    reference=_reference,
    operands=("n",),
    dtypes=("int32",),
)
