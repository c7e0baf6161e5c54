# SPDX-License-Identifier: Apache-2.0
"""The largest elements along an axis."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import namesake

# Up to jax 0.11.0, XLA takes NaNs of bfloat16 with one sign for equal. That is so
# on AMD; on an Intel with AVX512-FP16, it tells some NaNs apart, and takes
# subnormal numbers for equal.
EQUAL_NANS = jax.__version_info__ < (0, 11, 1)


def _jvp(indices, x_dot, *, k, equal_nans):
  del k, equal_nans
  return x_dot.at[indices].get(mode="promise_in_bounds")


def _is_faster(x, **_):
  # XLA has a fast top_k of float32, and sorts all other dtypes. To see it:
  # //benchmarks:benchmark --cpu-time --at-any-speed --lines=top_k/1x64x8/*/*/program
  if x.dtype == np.float32:
    return x.size >= 2048 and x.shape[-1] >= 256
  return x.size >= 64


_top_k = kit.op(
    "top_k",
    library=libraries.beside(__file__),
    signature="(n)->(m),(m)",
    outputs=("values", "indices"),
    attributes={
        "k": kit.Attribute(np.int64, minimum=0),
        "equal_nans": np.bool_,
    },
    results=kit.Results(
        dtypes=lambda x, **_: (x.dtype, np.dtype(np.int32)),
        sizes={"m": lambda n, k: min(n, k)},
    ),
    reference=lambda x, *, k, equal_nans: tuple(
        jax.lax.top_k(x, min(k, x.size))
    ),
    dtypes=kit.ORDERED,
    derivatives=kit.Derivatives(jvp=_jvp),
    choice=kit.Choice(is_faster=_is_faster),
)


@kit.public(_top_k)
def top_k(
    operand: jax.Array, k: int, *, axis: int = -1, is_stable: bool = True
) -> list[jax.Array]:
  """Finds the largest elements along an axis: jax.lax.top_k, faster on a CPU.

  The order is the same as in jax.lax.top_k on a CPU. Equal elements come by
  index. Numbers with different bits are not equal: +0 comes before -0, a NaN
  comes first, and a NaN with a sign bit last. Up to jax 0.11.0, NaNs of
  bfloat16 with one sign come by index; jax's own order of these NaNs, and of
  subnormal numbers of bfloat16, depends on the CPU there.

  Args:
    operand: array with one axis or more. Handlers take bool, int8 to int64,
      uint8 to uint64, float16, bfloat16, float32 and float64, on the CPU.
      jax.lax computes other arrays.
    k: how many.
    axis: an integer. The last axis is the fastest; another axis is transposed
      to the end and back.
    is_stable: an argument of jax.lax.top_k from jax 0.12 on. Here, equal
      elements come by index, also with False.

  Returns:
    A list of the values and of their indices along the axis, as int32. Both
    have size `k` there.

  Raises:
    TypeError, ValueError: as jax.lax.top_k does.
  """
  further = {} if is_stable is True else {"is_stable": is_stable}
  plain = lambda: jax.lax.top_k(operand, k, axis=axis, **further)
  if not isinstance(is_stable, bool):
    return plain()
  if isinstance(operand, np.ndarray) and operand.dtype in kit.ORDERED:
    operand = jnp.asarray(operand)
  if not isinstance(operand, jax.Array) or operand.dtype not in kit.ORDERED:
    return plain()
  known = all(
      isinstance(x, int | np.integer) for x in (k, axis, *operand.shape)
  )
  if not known or not -operand.ndim <= axis < operand.ndim:
    return plain()
  aval = jax.typeof(operand)
  # jax refuses an explicit sharding of the axis, and keeps a weak type.
  if aval.weak_type or aval.sharding.spec[axis] is not None:
    return plain()
  if not 0 <= k <= operand.shape[axis] <= namesake.MOST_INDEXED:
    return plain()
  if operand.shape[axis] == 1:  # XLA takes it as it is: a NaN keeps all bits.
    return plain()
  values, indices = _top_k(
      jnp.moveaxis(operand, axis, -1), k=int(k), equal_nans=EQUAL_NANS
  )
  return [jnp.moveaxis(x, -1, axis) for x in (values, indices)]
