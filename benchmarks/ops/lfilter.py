# SPDX-License-Identifier: Apache-2.0
"""lfilter of order 1 along the last axis."""

import functools

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases import filters
from jax_ffi_ops.timing.cases import recurrences


def _associative(x):
  shifted = jnp.pad(x[:, :-1], ((0, 0), (1, 0)))
  terms = filters.B[0] * x + filters.B[1] * shifted
  factors = jnp.full_like(x, -filters.A[1])
  return jax.lax.associative_scan(
      recurrences.combine, (factors, terms), axis=1
  )[1]


CASE = CASES["lfilter"].beside(
    {
        "associative_scan": _associative,
        "scan, unrolled": functools.partial(filters.filter_by_scan, unroll=8),
    }
)
