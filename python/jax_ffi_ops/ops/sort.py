# SPDX-License-Identifier: Apache-2.0
"""Sorts an array."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.argsort import argsort
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import namesake

# Up to jax 0.11.1, XLA sorts bfloat16 as float32: when it converts them back,
# only the sign of a NaN is left.
_ONE_NAN = jax.__version_info__ < (0, 11, 2)


def has_one_nan(size: int) -> bool:
  """Returns whether jax changes NaNs of bfloat16 when it sorts so many elements.

  XLA removes a sort of one.
  """
  return _ONE_NAN and size != 1


def _jvp(x, x_dot, *, descending, one_nan):
  del one_nan
  order = argsort(x, descending=descending, stable=False)
  return x_dot.at[order].get(mode="promise_in_bounds", unique_indices=True)


def _is_faster(x, **_):
  # For fewer elements, XLA is faster in a program. To see it:
  # //benchmarks:benchmark --cpu-time --at-any-speed --lines=sort/1x32/*/*/program
  return x.size >= (64 if jnp.issubdtype(x.dtype, jnp.integer) else 16)


_sort = kit.op(
    "sort",
    library=libraries.beside(__file__),
    signature="(n,*)->(n,*)",
    attributes={"descending": np.bool_, "one_nan": np.bool_},
    reference=lambda x, *, descending, one_nan: jnp.sort(
        x, descending=descending
    ),
    dtypes=kit.ORDERED,
    derivatives=kit.Derivatives(jvp=_jvp),
    choice=kit.Choice(is_faster=_is_faster),
)


@kit.public(_sort, *kit.ops_of(argsort))
def sort(
    a: jax.Array,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> jax.Array:
  """Sorts an array, as jax.numpy.sort does.

  NaNs are last. Both zeros are equal. Subnormal numbers count as zeros, as
  always on a CPU, except those of float16. Equal elements keep their order,
  also with stable=False. `descending` reverses the result.

  Handlers take bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32
  and float64, on the CPU. jax.numpy sorts other arrays.

  Args:
    a: an array.
    axis: the axis to sort along. If it is None, the array is flattened.
    kind: not supported by jax.
    order: not supported by jax.
    stable: see above.
    descending: whether to reverse the result.

  Returns:
    An array with the dtype of `a`, and its shape unless `axis` is None.

  Raises:
    TypeError, ValueError: as jax.numpy.sort does.
  """
  taken = namesake.along_axis(_sort, a, axis)
  if (
      taken is None
      or kind is not None
      or order is not None
      or not namesake.are_bools(stable, descending)
  ):
    return jnp.sort(
        a, axis, kind=kind, order=order, stable=stable, descending=descending
    )
  x, axis = taken
  return _sort(
      x, axis=axis, descending=descending, one_nan=has_one_nan(x.shape[axis])
  )
