# SPDX-License-Identifier: Apache-2.0
"""Indices of what is not zero."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries


def _reference(mask, fill, *, size):
  count = jnp.sum(mask, dtype=fill.dtype)
  if not mask.size:  # jax.numpy would not fill it.
    return jnp.full(size, fill), count
  (indices,) = jnp.nonzero(mask, size=size, fill_value=fill)
  return indices.astype(fill.dtype), count


_nonzero = kit.op(
    "nonzero",
    library=libraries.beside(__file__),
    signature="(n),()->(size),()",
    outputs=("indices", "count"),
    attributes={"size": np.int64},
    reference=_reference,
    dtypes={"mask": ("bool",), "fill": ("int32", "int64")},
    # For fewer elements, XLA is faster in a program. To see it:
    # //benchmarks:benchmark --cpu-time --at-any-speed --lines=nonzero/128/bool/*/program
    choice=kit.Choice(is_faster=lambda mask, fill, **_: mask.size >= 128),
)


@kit.public(_nonzero)
def nonzero(
    a: jax.Array,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> tuple[jax.Array, ...]:
  """Finds the elements that are not zero: jax.numpy.nonzero, faster on a CPU.

  Args:
    a: array with one axis or more and any dtype.
    size: how many to find. Transformations such as jit need it. By default, all
      are counted first, and each new count compiles a program.
    fill_value: the value after the last index, if there are fewer than `size`:
      a scalar, or a tuple with one for each axis; by default 0.

  Returns:
    An array of `size` indices for each axis of `a`, in the order of `a`.

  Raises:
    TypeError, ValueError: as jax.numpy.nonzero does.
  """
  plain = lambda: jnp.nonzero(a, size=size, fill_value=fill_value)
  if (
      isinstance(a, np.ndarray)
      and a.dtype.isnative
      and a.dtype.kind not in "OSUMm"
  ):
    a = jnp.asarray(a)
  if not isinstance(a, jax.Array) or a.ndim == 0:
    return plain()
  fills = (
      fill_value if isinstance(fill_value, tuple) else (fill_value,) * a.ndim
  )
  if len(fills) != a.ndim or any(np.shape(x) for x in fills):
    return plain()
  if not isinstance(size, int | np.integer | None):
    return plain()
  dtype = jax.dtypes.canonicalize_dtype(int)
  n = a.size
  if not isinstance(n, int) or not 0 < n <= np.iinfo(dtype).max:
    return plain()  # Symbolic, or what has no indices.
  mask = jnp.ravel(a if a.dtype == bool else a != 0)
  if size is None:
    _, count = _nonzero(mask, jnp.zeros((), dtype), size=0)
    if isinstance(count, jax.core.Tracer):
      return plain()
    size = count
  size = int(size)
  if not 0 < size <= np.iinfo(dtype).max:
    return plain()
  if fill_value is None:
    fills = (0,) * a.ndim
  try:
    if jnp.result_type(dtype, *fills) != dtype:
      return plain()  # Other dtypes differ between the versions of jax.
    fills = [jnp.asarray(x, dtype) for x in fills]
  except (TypeError, OverflowError):
    return plain()
  if a.ndim == 1:
    return (_nonzero(mask, fills[0], size=size)[0],)
  flat, _ = _nonzero(mask, jnp.asarray(n, dtype), size=size)
  strides = np.cumprod(a.shape[::-1])[::-1] // a.shape
  found = []
  for fill, own, stride in zip(fills, a.shape, strides):
    # Faster than // and %, and right: the numbers are not negative.
    index = jax.lax.rem(jax.lax.div(flat, dtype.type(stride)), dtype.type(own))
    if fill_value is not None:
      index = jnp.where(flat == n, fill, index)
    found.append(index)
  return tuple(found)
