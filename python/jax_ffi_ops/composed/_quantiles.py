# SPDX-License-Identifier: Apache-2.0
"""Quantiles: elements of a sorted array, or numbers between two of them."""

from collections.abc import Callable, Mapping
import functools
import math
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _inexact
from jax_ffi_ops.kit.operands import ARRAYS
from jax_ffi_ops.ops.common import namesake
from jax_ffi_ops.ops.common import reductions
from jax_ffi_ops.ops.partition import partition
from jax_ffi_ops.ops.sort import sort

OPS = (*kit.ops_of(sort), *kit.ops_of(partition))
_Function = TypeVar("_Function", bound=Callable[..., Any])
# With fewer elements, a sort is faster. With more, float32 does not hold all of
# their numbers, and partition not all of their indices.
_LEAST_SELECTED, _MOST_SELECTED = 8192, 2**24
_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


_TEXT = """
  From jax 0.12 on, jax.numpy does not keep the order of equal elements: zeros
  of its result may have the other sign.

  Args:
    a: an array of real numbers.{q}
    axis: the axis or axes to look along; by default all.
    out: not supported by jax.
    overwrite_input: not supported by jax.{method}
    keepdims: whether to keep the axes, with size 1.
    **options: other arguments of jax.numpy.{name}; it computes such calls.

  Returns:
    An array with the dtype of `a`, or a floating-point one if that is not.{more}

  Raises:
    TypeError, ValueError: as jax.numpy.{name} does.
  """


def documented(q: str, nan: str = "") -> Callable[[_Function], _Function]:
  """Adds to the docstring of a function that takes a q.

  Args:
    q: what that is.
    nan: what is returned for rows of NaNs.
  """
  return namesake.documented(
      _TEXT,
      q=f"\n    q: {q}.",
      method=(
          "\n    method: how to choose a number between two elements."
          '\n      jax.numpy computes "inverted_cdf".'
      ),
      more="\n    If `q` is a vector, the first axis is that of `q`." + nan,
  )


documented_median = namesake.documented(_TEXT, q="", method="", more="")


def compute(
    plain: Callable[..., jax.Array],
    a: Any,
    *arguments: Any,
    options: Mapping[str, Any],
    ignores_nan: bool = False,
    in_percent: bool = False,
) -> jax.Array:
  """Computes what a function of jax.numpy does.

  Args:
    plain: that function.
    a: from the user.
    *arguments: all others, in order: a median has no q and no method.
    options: further keywords, which only that function takes.
    ignores_nan: whether NaNs are left out. Otherwise, one makes the result NaN.
    in_percent: whether q goes up to 100, and not to 1.
  """
  if len(arguments) == 4:
    axis, out, overwrite_input, keepdims = arguments
    q, method = 0.5, "midpoint"
  else:
    q, axis, out, overwrite_input, method, keepdims = arguments
  axes = _axes(a, axis)
  if (
      out is not None
      or overwrite_input is not False
      or not namesake.are_bools(keepdims)
      or options
      or not axes
      or a.size == 0
      or method not in _METHODS
      or not isinstance(q, (float, *ARRAYS))
      or np.ndim(q) > 1
      or not jnp.issubdtype(jnp.result_type(q), jnp.floating)
  ):
    return plain(a, *arguments, **options)
  (x,) = _inexact.arrays(a)
  ranks = None
  if isinstance(q, float) and not ignores_nan and not in_percent:
    # Outside of jit, each of them would compile a program.
    if q == 0.5 or isinstance(x, jax.core.Tracer):
      ranks = _ranks(q, math.prod(a.shape[i] for i in axes))
  # That of a median is a constant of the program: nothing is transferred.
  q = None if isinstance(q, float) and q == 0.5 else jnp.asarray(q)
  y = _quantiles(x, q, axes, method, ignores_nan, in_percent, ranks)
  return jnp.expand_dims(y, [i - a.ndim for i in axes]) if keepdims else y


def _axes(a, axis):
  """Returns the axes of an array, or none if the call is left to jax.numpy."""
  axes = namesake.axes_of(a, axis, kit.ORDERED)
  if axes and not all(isinstance(n, int) for n in a.shape):
    return ()  # Symbolic.
  return axes


def _ranks(q, count):
  """Returns between which elements a quantile is, or None to sort them."""
  if not _LEAST_SELECTED <= count <= _MOST_SELECTED or not 0 <= q <= 1:
    return None
  # As below, with the dtype of q.
  place = jax.dtypes.canonicalize_dtype(float).type(q) * (count - 1)
  return math.floor(place), math.ceil(place)


@functools.partial(jax.jit, static_argnums=(2, 3, 4, 5, 6))
def _quantiles(x, q, axes, method, ignores_nan, in_percent, ranks):
  q = jnp.asarray(0.5) if q is None else q
  x, axis = _on_one_axis(x, axes)
  if ranks is None:
    x = sort(x, axis)
    has_nan = jnp.isnan(jax.lax.index_in_dim(x, -1, axis, keepdims=False))
  else:
    has_nan = jnp.any(jnp.isnan(x), axis)
  q_shape, q = q.shape, (q / 100 if in_percent else q).ravel()
  column = (-1,) + (1,) * has_nan.ndim
  if ignores_nan:
    count = jnp.sum(~jnp.isnan(x), axis, q.dtype)[None]
  else:
    count = jnp.asarray(x.shape[axis], q.dtype)
  place = q.reshape(column) * (count - 1)
  low, high = jnp.floor(place), jnp.ceil(place)
  high_weight = place - low
  low_weight = 1 - high_weight

  def element(i):
    i = jnp.maximum(0, jnp.minimum(i, count - 1)).astype(int)
    if ignores_nan:
      # As in jax.numpy: the code around a sum decides which of its products
      # LLVM does not round.
      found = jnp.take_along_axis(
          x, jnp.moveaxis(i, 0, axis), axis, mode="promise_in_bounds"
      )
      return jnp.moveaxis(found, axis, 0)
    found = jnp.take(x, i.ravel(), axis, mode="clip")
    return reductions.nan_where(has_nan[None], jnp.moveaxis(found, axis, 0))

  if ranks is None:
    low, high = element(low), element(high)
  else:
    low, high = (
        reductions.nan_where(has_nan, y)[None]
        for y in _selected(x, axis, *ranks)
    )
  if method == "linear":
    y = low.astype(q.dtype) * low_weight + high.astype(q.dtype) * high_weight
  elif method == "nearest":
    y = jnp.where(high_weight <= 0.5, low, high)
  elif method == "midpoint":
    y = (low + high) * jnp.asarray(0.5, low.dtype)
  else:
    y = low if method == "lower" else high
  y = y.astype(x.dtype)
  if ignores_nan:  # Rows of NaNs get jax.numpy's bits.
    y = reductions.nan_where(count == 0, y)
  return y.reshape(q_shape + has_nan.shape)


def _selected(x, axis, low, high):
  """Returns the elements at `low` and at `high`, which may be the next one."""
  x = partition(x, low, axis)
  first = jax.lax.index_in_dim(x, low, axis, keepdims=False)
  if low == high:
    return first, first
  x = partition(jax.lax.slice_in_dim(x, low, None, axis=axis), 1, axis)
  return first, jax.lax.index_in_dim(x, 1, axis, keepdims=False)


def _on_one_axis(x, axes):
  """Returns an array in which one axis replaces several, and that axis."""
  if len(axes) == 1:
    return x, axes[0]
  if len(axes) == x.ndim:
    return x.ravel(), 0
  # This order is that of jax.numpy: sorting keeps it among equal elements, such
  # as zeros of both signs.
  kept = [i for i in range(x.ndim) if i not in axes]
  order = list(range(x.ndim))
  for i, axis in enumerate(kept):
    order[i], order[axis] = order[axis], order[i]
  shape = [x.shape[i] for i in kept]
  n = math.prod(x.shape[i] for i in axes)
  return x.transpose(order).reshape(*shape, n), len(kept)
