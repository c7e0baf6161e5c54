# SPDX-License-Identifier: Apache-2.0
"""Running sums."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit


def _sum(x, *, reverse):
  del reverse
  if jnp.issubdtype(x.dtype, jnp.integer):
    return jnp.sum(x, dtype=x.dtype)
  return jnp.sum(x, dtype=np.float64)


def _of_piece(x, before, after, *, reverse):
  (carry,) = after if reverse else before
  wide = x
  if jnp.issubdtype(x.dtype, jnp.floating):
    wide = x.astype(kit.accumulator(x.dtype))
  y = _cumsum(wide, reverse=reverse)
  return (y.astype(carry.dtype) + carry).astype(x.dtype)


_cumsum = kit.scan_op(
    "cumsum",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libcumsum_ext.so"),
        prefix="xla_ffi_ops_",
    ),
    transpose=lambda dy, *, reverse: _cumsum(dy, reverse=not reverse),
    split=kit.Split(
        local=_sum,
        identity=lambda *, reverse: 0,
        combine=lambda a, b, *, reverse: (a[0] + b[0],),
        apply=_of_piece,
    ),
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
