# SPDX-License-Identifier: Apache-2.0
"""Percentiles that leave out NaNs."""

from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _quantiles


@kit.public(*_quantiles.OPS)
def nanpercentile(
    a: jax.Array,
    q: Any,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    **options: Any,
) -> jax.Array:
  """Returns percentiles without NaNs: jax.numpy.nanpercentile, faster on a CPU.

  It sorts with jax_ffi_ops.sort. jax.numpy computes the method "inverted_cdf".
  From jax 0.12 on, jax.numpy does not keep the order of equal elements: zeros
  of its result may have the other sign.

  Args:
    a: an array of real numbers.
    q: from 0 to 100: a number or a vector.
    axis: the axis or axes to look along; by default all.
    out: not supported by jax.
    overwrite_input: not supported by jax.
    method: how to choose a number between two elements.
    keepdims: whether to keep the axes, with size 1.
    **options: other arguments of jax.numpy.nanpercentile; it computes such
      calls.

  Returns:
    An array with the dtype of `a`, or a floating-point one if that is not.
    If `q` is a vector, the first axis is that of `q`. Rows of NaNs give NaN.

  Raises:
    TypeError, ValueError: as jax.numpy.nanpercentile does.
  """
  return _quantiles.compute(
      lambda: jnp.nanpercentile(
          a, q, axis, out, overwrite_input, method, keepdims, **options
      ),
      a,
      q,
      axis,
      method,
      keepdims,
      (out, overwrite_input, options),
      ignores_nan=True,
      in_percent=True,
  )
