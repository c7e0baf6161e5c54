# SPDX-License-Identifier: Apache-2.0
"""ema along the last axis."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases import recurrences


def _associative(x):
  alpha = recurrences.ALPHA
  factors = jnp.full_like(x, 1 - alpha).at[:, 0].set(0)
  terms = (alpha * x).at[:, 0].set(x[:, 0])
  return jax.lax.associative_scan(
      recurrences.combine, (factors, terms), axis=1
  )[1]


CASE = CASES["ema"].beside({"associative_scan": _associative})
