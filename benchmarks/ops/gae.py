# SPDX-License-Identifier: Apache-2.0
"""gae along the first axis."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import gae
from operands import array


def _by_scan(rewards, discounts, values):
  def step(last, x):
    (advantage, value), (r, d, v) = last, x
    advantage = r + d * value - v + d * 0.95 * advantage
    return (advantage, v), advantage

  start = jnp.zeros_like(values[-1]), values[-1]
  numbers = rewards, discounts, values[:-1]
  return jax.lax.scan(step, start, numbers, reverse=True)[1]


def _associative(rewards, discounts, values):
  delta = rewards + discounts * values[1:] - values[:-1]
  combine = lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1])
  return jax.lax.associative_scan(
      combine, (0.95 * discounts, delta), reverse=True
  )[1]


ENTRY = Entry(
    function=lambda *operands: gae(*operands, 0.95),
    operands=lambda n, columns: (
        array(n, columns),
        array(n, columns),
        array(n + 1, columns),
    ),
    sizes=("128x8", "1024x256", "2048x64"),
    streams={"forward": 4},  # rewards, discounts, values, advantages
    peers={"associative_scan": _associative, "jax.lax.scan": _by_scan},
)
