# SPDX-License-Identifier: Apache-2.0
"""NaNs: in maxima and minima, and where a result has to be one."""

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
  return nan_where(jnp.any(x != x, **options), best)


def nan_where(mask: jax.Array, x: jax.Array) -> jax.Array:
  """Returns x, with NaN where the mask is true: jax.numpy.nan, bit by bit.

  There is no NaN if the mask has no true element. Where each operation is
  checked for NaNs (jax.disable_jit with jax.debug_nans), jax.numpy.where would
  raise an error for the constant: jax#24732.
  """
  one = (~mask).astype(x.dtype)
  return jnp.where(mask, abs(one / one), x)  # 0 / 0 has the sign bit set.
