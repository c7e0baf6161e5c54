# SPDX-License-Identifier: Apache-2.0
"""Coefficients of interpolating splines, as scipy.ndimage has them."""

from typing import Any

import jax

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.ops import spline_filter1d


@kit.public(*kit.ops_of(spline_filter1d.spline_filter1d))
def spline_filter(
    input: jax.Array, order: int = 3, output: Any = None, mode: str = "mirror"
) -> jax.Array:
  """Computes the coefficients of a spline as scipy.ndimage.spline_filter does.

  Args:
    input: an array of numbers.
    order: the order of the spline, from 2 to 5.
    output: the dtype of the coefficients. SciPy's default is float64.
    mode: as for `spline_filter1d`, which this function calls for each axis.

  Returns:
    The coefficients, an array of the shape of `input`. By default it also has
    its dtype, or for integers, the default floating-point dtype.

  Raises:
    TypeError: `input` has no numbers, or output is no dtype of numbers.
    ValueError: there is no such order or mode.
  """
  spline_filter1d.checked("spline_filter", order, mode, range(2, 6))
  x = arguments.numeric("spline_filter", "input", input)
  spline_filter1d.output_dtype("spline_filter", output, x.dtype)
  if not x.ndim:  # A line of one element.
    return spline_filter1d.spline_filter1d(x[None], order, 0, output, mode)[0]
  for axis in range(x.ndim):
    x = spline_filter1d.spline_filter1d(x, order, axis, output, mode)
  return x
