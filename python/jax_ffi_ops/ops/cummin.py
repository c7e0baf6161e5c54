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
@scans.of_numbers
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
  """
  return scans.scan(_cummin, jax.lax.cummin, operand, axis, reverse, in_place)
