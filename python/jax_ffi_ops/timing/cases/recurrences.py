# SPDX-License-Identifier: Apache-2.0
"""Cases of recurrences: each step takes the result of the last one."""

import jax
import jax.numpy as jnp

import jax_ffi_ops
from jax_ffi_ops.timing.case import ours
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.operands import Array
from jax_ffi_ops.timing.operands import array

ALPHA = 0.1  # of ema
LAMBDA = 0.95  # of gae
_STEPS = ("128x8", "1024x256", "2048x64")  # steps x rows of them


def combine(first, second):
  """Makes one step of two: each is a factor and a term."""
  return first[0] * second[0], second[0] * first[1] + second[1]


def _linear_recurrence(a, b, *, axis):
  return jax.lax.associative_scan(combine, (a, b), axis=axis)[1]


def _returns(rewards, discounts):
  step = lambda total, x: (x[0] + x[1] * total,) * 2
  start = jnp.zeros_like(rewards[0])
  return jax.lax.scan(step, start, (rewards, discounts), reverse=True)[1]


def _ema(x):
  step = lambda y, x: ((1 - ALPHA) * y + ALPHA * x,) * 2
  return jax.lax.scan(step, x[:, 0], x.T)[1].T


def _gae(rewards, discounts, values):
  def step(last, x):
    (advantage, value), (r, d, v) = last, x
    advantage = r + d * value - v + d * LAMBDA * advantage
    return (advantage, v), advantage

  start = jnp.zeros_like(values[-1]), values[-1]
  numbers = rewards, discounts, values[:-1]
  return jax.lax.scan(step, start, numbers, reverse=True)[1]


def _draw_factors(key, shape):
  return jax.random.uniform(key, shape, minval=0.5)


CASES = {
    "discounted_returns": Timed(
        ours("discounted_returns"),
        {"jax.lax.scan": _returns},
        operands=lambda *shape: (array(*shape), Array(shape, _draw_factors)),
        sizes=_STEPS,
        typical="1024x256",
        streams={"forward": 3},  # rewards, discounts, returns
    ),
    "ema": Timed(
        lambda x: jax_ffi_ops.ema(x, ALPHA),
        {"jax.lax.scan": _ema},
        sizes=("8x64", "64x16384", "2048x2048"),
    ),
    "gae": Timed(
        lambda *operands: jax_ffi_ops.gae(*operands, LAMBDA),
        {"jax.lax.scan": _gae},
        operands=lambda n, columns: (
            array(n, columns),
            array(n, columns),
            array(n + 1, columns),
        ),
        sizes=_STEPS,
        gpu_sizes=("2048x4096",),
        typical="1024x256",
        streams={"forward": 4},  # rewards, discounts, values, advantages
    ),
    "linear_recurrence": Timed(
        ours("linear_recurrence"),
        {"associative_scan": _linear_recurrence},
        operands=lambda *shape: (Array(shape, _draw_factors), array(*shape)),
        sizes=(
            "2x32x8",
            "8x256x64",
            "64x16384x1",
            "1x1048576x1",
            "8x2048x512",
        ),
        gpu_sizes=("8x8192x1024",),
        attributes=lambda *shape: {"axis": 1},
        # Forward a, b, h; backward a, h, dh, da, db.
        streams={"forward": 3, "backward": 5},
    ),
}
