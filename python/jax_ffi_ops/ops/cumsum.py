# SPDX-License-Identifier: Apache-2.0
"""Running sums."""

import pathlib

import jax

from jax_ffi_ops import kit

_cumsum = kit.scan_op(
    "cumsum",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libcumsum_ext.so"),
        prefix="xla_ffi_ops_",
    ),
    transpose=lambda dy, *, reverse: _cumsum(dy, reverse=not reverse),
)


@kit.public(_cumsum)
def cumsum(
    operand: jax.Array, axis: int = 0, reverse: bool = False
) -> jax.Array:
  """Adds up elements along an axis: jax.lax.cumsum, faster on a CPU.

  Handlers keep sums of float32, float16 and bfloat16 in float64, and round each
  result once. So these results are more exact than those of jax.lax; the last
  bits of float64 may differ, too. Sums of integers wrap. The result does not
  depend on the number of threads.

  Args:
    operand: an array. Handlers take integers, and floating-point numbers of 16
      to 64 bits, on the CPU. All else is left to jax.lax.
    axis: the axis to go along. Other than in jax.lax, it may be negative: then
      it counts from the last.
    reverse: whether to go from the last element to the first.

  Returns:
    An array of the shape and dtype of `operand`.

  Raises:
    TypeError, ValueError: as jax.lax.cumsum does, but not for a negative axis.
  """
  return kit.scan(_cumsum, jax.lax.cumsum, operand, axis, reverse)
