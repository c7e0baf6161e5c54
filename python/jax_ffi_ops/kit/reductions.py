# SPDX-License-Identifier: Apache-2.0
"""Maxima and minima that are NaN where an element is."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def extremum(
    reduce: Callable[..., jax.Array], x: jax.Array, **options: Any
) -> jax.Array:
  """Returns the maximum or minimum; NaN where one of the elements is NaN.

  By themselves, jax.numpy.max and min lose NaNs on a CPU: XLA vectorizes them
  with instructions that return the other operand.

  Args:
    reduce: jax.numpy.max, or min.
    x: an array of real numbers.
    **options: `axis` and `keepdims`.
  """
  best = reduce(x, **options)
  if not jnp.issubdtype(x.dtype, jnp.floating):
    return best
  has_nan = jnp.any(x != x, **options)
  return jnp.where(has_nan, jnp.nan, best)
