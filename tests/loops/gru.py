# SPDX-License-Identifier: Apache-2.0
"""A gated recurrent unit over a sequence."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def _gru(state, xs, of_input, of_state, bias):
  """Returns the last state of Cho et al., "Learning phrase representations".

  Args:
    state: [h].
    xs: [t, h].
    of_input: [3, h, h], weights of the reset gate, the update gate and the
      candidate.
    of_state: [3, h, h], likewise.
    bias: [3, h].
  """

  def step(state, x):
    own = jnp.einsum("x,gxh->gh", x, of_input) + bias
    old = jnp.einsum("x,gxh->gh", state, of_state)
    reset = jax.nn.sigmoid(own[0] + old[0])
    update = jax.nn.sigmoid(own[1] + old[1])
    candidate = jnp.tanh(own[2] + reset * old[2])
    return update * state + (1 - update) * candidate, None

  return jax.lax.scan(step, state, xs)[0]


gru = kit.op(
    "gru",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libgru_ext.so"), prefix="loops_"
    ),
    signature="(h),(t,h),(3,h,h),(3,h,h),(3,h)->(h)",
    reference=_gru,
    outputs=("last",),
    dtypes=("float32",),
)
