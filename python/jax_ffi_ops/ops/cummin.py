# SPDX-License-Identifier: Apache-2.0
"""Running minima."""

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import scans
from jax_ffi_ops.ops.cummax import extremum_from_jvp
from jax_ffi_ops.ops.cummax import extremum_jvp
from jax_ffi_ops.ops.cummax import extremum_split
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence

_LIBRARY = libraries.beside(__file__)

_cummin_from = scans.scan_from_op(
    "cummin",
    _LIBRARY,
    jnp.minimum,
    derivatives=kit.Derivatives(jvp=extremum_from_jvp),
)

_cummin = scans.scan_op(
    "cummin",
    library=_LIBRARY,
    derivatives=kit.Derivatives(jvp=extremum_jvp(1)),
    split=extremum_split(_cummin_from, 1),
)


@kit.public(_cummin, _cummin_from, *kit.ops_of(linear_recurrence))
def cummin(
    operand: jax.Array,
    axis: int = 0,
    reverse: bool = False,
    *,
    in_place: bool = False,
) -> jax.Array:
  """Finds running minima along an axis: jax.lax.cummin, faster on a CPU.

  From the first NaN on, all results are NaN. If several elements are equal to a
  minimum, only the first of them gets its derivative.

  Args:
    operand: an array. Handlers take int8 to int64, uint8 to uint64, float16,
      bfloat16, float32 and float64, on the CPU. jax.lax computes other arrays.
    axis: the axis to go along. Unlike in jax.lax, it may be negative: -1 is the
      last one.
    reverse: whether to go from the last element to the first.
    in_place: whether the result may take the memory of `operand`. Say so where
      that is donated, or the carry of a loop; XLA copies what is used again.

  Returns:
    An array of the shape and dtype of `operand`.

  Raises:
    TypeError, ValueError: as jax.lax.cummin does, but not for a negative axis.
  """
  return scans.scan(_cummin, jax.lax.cummin, operand, axis, reverse, in_place)
