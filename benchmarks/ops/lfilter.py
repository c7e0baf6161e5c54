# SPDX-License-Identifier: Apache-2.0
"""lfilter of order 1 along the last axis."""

import jax
import jax.numpy as jnp
import numpy as np

from entry import Entry
from jax_ffi_ops import lfilter
from operands import array

_B, _A = (0.1, 0.05), (1.0, -0.9)


def _by_scan(x, unroll=1):
  def step(z, x):
    y = z + _B[0] * x
    return _B[1] * x - _A[1] * y, y

  return jax.lax.scan(step, jnp.zeros_like(x[:, 0]), x.T, unroll=unroll)[1].T


def _associative(x):
  terms = _B[0] * x + _B[1] * jnp.pad(x[:, :-1], ((0, 0), (1, 0)))
  factors = jnp.full_like(x, -_A[1])
  combine = lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1])
  return jax.lax.associative_scan(combine, (factors, terms), axis=1)[1]


ENTRY = Entry(
    function=lambda x: lfilter(
        np.asarray(_B, x.dtype), np.asarray(_A, x.dtype), x
    ),
    operands=lambda rows, cols: (array(rows, cols),),
    sizes=("8x64", "1x65536", "64x16384"),
    streams={"forward": 2},  # x, y
    dtypes=("float32",),
    peers={
        "associative_scan": _associative,
        "jax.lax.scan": _by_scan,
        "scan, unrolled": lambda x: _by_scan(x, unroll=8),
    },
)
