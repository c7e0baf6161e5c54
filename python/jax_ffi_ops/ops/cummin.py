# SPDX-License-Identifier: Apache-2.0
"""Running minima."""

import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.cummax import first_places


def _jvp(x, y, x_dot, *, reverse):
  places = first_places(x, y, reverse)
  return x_dot.at[places].get(mode="promise_in_bounds")


_cummin = kit.op(
    "cummin",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libcummin_ext.so"),
        prefix="xla_ffi_ops_",
    ),
    signature="(n,*)->(n,*)",
    attributes={"reverse": np.bool_},
    reference=lambda x, *, reverse: jax.lax.cummin(x, reverse=reverse),
    dtypes=kit.NUMBERS,
    jvp=_jvp,
    # To see it: //benchmarks:benchmark --at-any-speed --lines=cummin/1x64/*/*/program
    is_faster=lambda x, **_: x.size >= 64,
)


@kit.public(_cummin)
def cummin(
    operand: jax.Array, axis: int = 0, reverse: bool = False
) -> jax.Array:
  """Finds running minima along an axis: jax.lax.cummin, faster on a CPU.

  From the first NaN on, all are NaN. The derivative of a minimum that several
  elements share is that of the first of them.

  Args:
    operand: an array. Handlers take integers, and floating-point numbers of 16
      to 64 bits, on the CPU. All else is left to jax.lax.
    axis: the axis to go along. Negative ones count from the last.
    reverse: whether to go from the last element to the first.

  Returns:
    An array of the shape and dtype of `operand`.

  Raises:
    TypeError, ValueError: as jax.lax.cummin does.
  """
  return kit.scan(_cummin, jax.lax.cummin, operand, axis, reverse)
