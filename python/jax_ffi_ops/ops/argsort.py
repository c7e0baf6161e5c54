# SPDX-License-Identifier: Apache-2.0
"""The indices that sort an array."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import namesake


def _reference(x, *, descending, stable):
  order = jnp.argsort(x, descending=descending and stable)
  order = jnp.flip(order) if descending and not stable else order
  return order.astype(np.int32)


_argsort = kit.op(
    "argsort",
    library=libraries.beside(__file__),
    signature="(n,*)->(n,*)",
    attributes={"descending": np.bool_, "stable": np.bool_},
    reference=_reference,
    dtypes=kit.ORDERED,
    # For fewer elements, XLA is faster in a program. To see it:
    # //benchmarks:benchmark --cpu-time --at-any-speed --lines=argsort/1x16/*/*/program
    choice=kit.Choice(is_faster=lambda x, **_: x.size >= 16),
)


@kit.public(_argsort)
def argsort(
    a: jax.Array,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> jax.Array:
  """Returns the indices that sort an array, as jax.numpy.argsort does.

  The order is the same as in jax_ffi_ops.sort. Equal elements keep their order,
  also with stable=False; with stable=False and `descending` they reverse it.

  Args:
    a: an array. Handlers take bool, int8 to int64, uint8 to uint64, float16,
      bfloat16, float32 and float64, on the CPU. jax.numpy computes other
      arrays.
    axis: the axis to sort along. If it is None, the array is flattened.
    kind: not supported by jax.
    order: not supported by jax.
    stable: see above.
    descending: whether the largest elements come first.
    dtype: the dtype of the indices; by default jax's dtype of integers.

  Returns:
    An array of indices. It has the shape of `a` unless `axis` is None.

  Raises:
    TypeError, ValueError: as jax.numpy.argsort does.
  """
  taken = namesake.along_axis(_argsort, a, axis)
  default = jax.dtypes.canonicalize_dtype(jnp.int_)
  index = default
  if isinstance(dtype, str | type | np.dtype):
    index = np.dtype(dtype)
  elif dtype is not None:
    taken = None
  size = 0 if taken is None else taken[0].shape[taken[1]]
  if (
      taken is None
      or (
          isinstance(size, int) and size > namesake.MOST_INDEXED
      )  # It may be symbolic.
      or index not in (np.int32, default)
      or kind is not None
      or order is not None
      or not namesake.are_bools(stable, descending)
  ):
    return jnp.argsort(
        a,
        axis,
        kind=kind,
        order=order,
        stable=stable,
        descending=descending,
        dtype=dtype,
    )
  x, axis = taken
  order = _argsort(x, axis=axis, descending=descending, stable=stable)
  return order.astype(index)
