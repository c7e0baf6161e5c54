# SPDX-License-Identifier: Apache-2.0
"""Medians."""

from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _quantiles


@kit.public(*_quantiles.OPS)
@_quantiles.documented_median
def median(
    a: jax.Array,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
    **options: Any,
) -> jax.Array:
  """Returns the median: jax.numpy.median, faster on a CPU.

  It selects from 8192 elements and more, as jax_ffi_ops.partition does, and
  sorts fewer with jax_ffi_ops.sort.
  """
  return _quantiles.compute(
      jnp.median, a, axis, out, overwrite_input, keepdims,
      options=options,
  )  # fmt: skip
