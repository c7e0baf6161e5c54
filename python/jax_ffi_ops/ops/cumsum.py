# SPDX-License-Identifier: Apache-2.0
"""Running sums."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import scans


def _sum(x):
  is_real = jnp.issubdtype(x.dtype, jnp.floating)
  return jnp.sum(x, dtype=np.float64 if is_real else x.dtype)


def _of_piece(x, before, after, reverse):
  (carry,) = after if reverse else before
  return _cumsum_from(x, carry, reverse=reverse)


def _split(local, apply, **backward):
  return kit.Split(
      local=local,
      identity=lambda *, reverse: -0.0,  # 0.0 would turn -0.0 into 0.0.
      combine=lambda a, b, *, reverse: (a[0] + b[0],),
      apply=apply,
      **backward,
  )


_LIBRARY = libraries.beside(__file__)

_cumsum_from = scans.scan_from_op(
    "cumsum", _LIBRARY, jnp.add, starts=kit.NUMBERS
)

# XLA's sums in float64 take as long as a scan.
_total = scans.scan_total_op("cumsum", _LIBRARY, _sum)

_cumsum = scans.scan_op(
    "cumsum",
    library=_LIBRARY,
    derivatives=kit.Derivatives(
        transpose=lambda dy, *, reverse: _cumsum(dy, reverse=not reverse)
    ),
    split=_split(
        lambda x, *, reverse: _total(x),
        lambda x, before, after, *, reverse: _of_piece(
            x, before, after, reverse
        ),
        backward=_split(
            lambda dy, *, reverse: _total(dy),
            lambda dy, before, after, *, reverse: _of_piece(
                dy, before, after, not reverse
            ),
        ),
    ),
)


@kit.public(_cumsum, _cumsum_from, _total)
@scans.of_numbers
def cumsum(
    operand: jax.Array,
    axis: int = 0,
    reverse: bool = False,
    *,
    in_place: bool = False,
) -> jax.Array:
  """Adds up elements along an axis: jax.lax.cumsum, faster on a CPU.

  Handlers keep sums of float32, float16 and bfloat16 in float64, and round each
  result once. So these results are more exact than in jax.lax. The last bits of
  float64 may differ, too. Sums of integers wrap. The result does not depend on
  the number of threads.
  """
  return scans.scan(_cumsum, jax.lax.cumsum, operand, axis, reverse, in_place)
