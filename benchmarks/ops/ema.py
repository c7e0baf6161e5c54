# SPDX-License-Identifier: Apache-2.0
"""ema along the last axis."""

import jax
import jax.numpy as jnp

from entry import Entry
from jax_ffi_ops import ema
from operands import array


def _by_scan(x):
  step = lambda y, x: (0.9 * y + 0.1 * x,) * 2
  return jax.lax.scan(step, x[:, 0], x.T)[1].T


def _associative(x):
  factors = jnp.full_like(x, 0.9).at[:, 0].set(0)
  terms = (0.1 * x).at[:, 0].set(x[:, 0])
  combine = lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1])
  return jax.lax.associative_scan(combine, (factors, terms), axis=1)[1]


ENTRY = Entry(
    function=lambda x: ema(x, 0.1),
    operands=lambda rows, cols: (array(rows, cols),),
    sizes=("8x64", "64x16384", "2048x2048"),
    streams={"forward": 2},  # x, y
    peers={"associative_scan": _associative, "jax.lax.scan": _by_scan},
)
