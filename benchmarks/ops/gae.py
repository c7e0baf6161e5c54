# SPDX-License-Identifier: Apache-2.0
"""gae along the first axis."""

import jax

from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.cases import recurrences


def _associative(rewards, discounts, values):
  delta = rewards + discounts * values[1:] - values[:-1]
  factors = recurrences.LAMBDA * discounts
  return jax.lax.associative_scan(
      recurrences.combine, (factors, delta), reverse=True
  )[1]


CASE = CASES["gae"].beside({"associative_scan": _associative})
