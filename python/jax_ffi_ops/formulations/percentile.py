# SPDX-License-Identifier: Apache-2.0
"""Percentiles."""

from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops.formulations import _quantiles


def percentile(
    a: jax.Array,
    q: Any,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    **options: Any,
) -> jax.Array:
  """Returns percentiles: jax.numpy.percentile, faster on a CPU.

  It sorts with jax_ffi_ops.sort. The method "inverted_cdf" is that of
  jax.numpy.

  Args:
    a: an array of real numbers.
    q: from 0 to 100: a number or a vector.
    axis: the axis or axes to look along; by default all.
    out: not supported by jax.
    overwrite_input: not supported by jax.
    method: what stands for a number between two elements.
    keepdims: whether the axes stay, with one element.
    **options: others that jax.numpy.percentile has. With any of them, it is
      called.

  Returns:
    An array with the dtype of `a`, or of floating-point numbers. If `q` is a
    vector, that is the first axis.

  Raises:
    TypeError, ValueError: as jax.numpy.percentile does.
  """
  return _quantiles.compute(
      lambda: jnp.percentile(
          a, q, axis, out, overwrite_input, method, keepdims, **options
      ),
      a,
      q,
      axis,
      method,
      keepdims,
      is_plain=out is not None or bool(overwrite_input) or bool(options),
      in_percent=True,
  )
