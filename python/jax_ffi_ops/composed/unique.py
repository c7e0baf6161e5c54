# SPDX-License-Identifier: Apache-2.0
"""The distinct elements of an array."""

import functools
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.argsort import argsort
from jax_ffi_ops.ops.common import namesake
from jax_ffi_ops.ops.cumsum import cumsum
from jax_ffi_ops.ops.nonzero import nonzero
from jax_ffi_ops.ops.sort import sort

# With checks of the indices, they take twice as long.
_IN_BOUNDS = dict(mode="promise_in_bounds", wrap_negative_indices=False)


@kit.public(
    *kit.ops_of(argsort),
    *kit.ops_of(cumsum),
    *kit.ops_of(nonzero),
    *kit.ops_of(sort),
)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,  # pylint: disable=redefined-builtin
) -> Any:
  """Finds the distinct elements: jax.numpy.unique, faster on a CPU.

  Args:
    ar: an array.
    return_index: whether to return, for each, its first index in `ar`.
    return_inverse: whether to return, for each element of `ar`, the index of
      its value in the result.
    return_counts: whether to return how often each occurs.
    axis: the axis whose slices are compared. By default, elements are.
    equal_nan: whether NaNs are equal.
    size: how many to return. Transformations such as jit need it. By default,
      they are counted first, and each new count compiles a program.
    fill_value: the value that fills the result if there are fewer than `size`;
      by default the first element.
    sorted: has no effect, as in jax: the result is always sorted.

  Returns:
    The array; or a tuple of it, indices, inverse and counts, as far as
    requested.

  Raises:
    TypeError, ValueError: as jax.numpy.unique does.
  """
  del sorted
  plain = lambda: jnp.unique(
      ar,
      return_index,
      return_inverse,
      return_counts,
      axis,
      equal_nan=equal_nan,
      size=size,
      fill_value=fill_value,
  )
  taken = namesake.along_axis(kit.ops_of(argsort)[0], ar, axis)
  if taken is None or not isinstance(size, int | np.integer | None):
    return plain()
  if not namesake.are_bools(equal_nan):
    return plain()
  x, along = taken
  if size is None and isinstance(x, jax.core.Tracer):
    return plain()
  if not all(isinstance(n, int) for n in x.shape) or not 0 < x.size < 2**31:
    return plain()
  if namesake.is_split(x) or not _is_scalar(fill_value):
    return plain()
  needs_order = bool(return_index or return_inverse)
  rows, order, first = _ordered(x, along, needs_order, equal_nan)
  if size is None:
    fill_value = None
    size = int(jnp.sum(first))
  if not 0 < size < 2**31 - 1:
    return plain()
  values, at, counts = _compacted(rows, first, fill_value, int(size))
  results = [jnp.moveaxis(values, 0, along)]
  if return_index:
    results.append(order.at[at].get(mode="promise_in_bounds"))
  if return_inverse:
    inverse = _inverse(order, first)
    results.append(inverse if axis is not None else inverse.reshape(ar.shape))
  if return_counts:
    results.append(counts)
  return tuple(results) if len(results) > 1 else results[0]


def _is_scalar(fill):
  number = isinstance(fill, (numbers.Number, jax.Array, np.ndarray, np.generic))
  return fill is None or number and np.ndim(fill) == 0


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _ordered(x, axis, needs_order, equal_nan):
  """Returns sorted rows, their indices, and which differ from those before."""
  x = jnp.moveaxis(x, axis, 0)
  keys = jax.lax.stop_gradient(x).reshape(len(x), -1).T
  if needs_order or len(keys) > 1 or x.dtype == jnp.bfloat16:
    # By the last key first. (sort would lose the payload of NaNs of bfloat16.)
    order = argsort(keys[-1])
    if len(keys) > 1:  # jax.disable_jit refuses a scan without steps.
      order, _ = jax.lax.scan(
          lambda order, key: (order[argsort(key[order])], None),
          order,
          keys[:-1],
          reverse=True,
      )
    x = x.at[order].get(unique_indices=True, **_IN_BOUNDS)
  else:
    order, x = None, sort(x, 0)
  differs = x[1:] != x[:-1]
  if equal_nan and jnp.issubdtype(x.dtype, jnp.floating):
    differs &= ~(jnp.isnan(x[1:]) & jnp.isnan(x[:-1]))
  differs = jnp.any(differs, tuple(range(1, x.ndim)))
  return x, order, jnp.ones(len(x), bool).at[1:].set(differs)


@functools.partial(jax.jit, static_argnums=3)
def _compacted(rows, first, fill, size):
  """Returns the first row of each kind, its place, and how many there are."""
  (starts,) = nonzero(first, size=size + 1, fill_value=len(rows))
  known = starts[:-1] < len(rows)
  at = jnp.where(known, starts[:-1], 0)
  values = rows.at[at].get(mode="promise_in_bounds")
  if fill is not None:
    known = jnp.expand_dims(known, tuple(range(1, rows.ndim)))
    values = jnp.where(known, values, jnp.asarray(fill).astype(rows.dtype))
  return values, at, jnp.diff(starts)


@jax.jit
def _inverse(order, first):
  """Returns for each element how many first ones are before its own."""
  rank = cumsum(first.astype(order.dtype)) - 1
  zeros = jnp.zeros_like(order)
  return zeros.at[order].set(rank, unique_indices=True, **_IN_BOUNDS)
