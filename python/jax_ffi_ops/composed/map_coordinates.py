# SPDX-License-Identifier: Apache-2.0
"""Values of splines between the elements of an array, as scipy.ndimage has them."""

from collections.abc import Sequence
import functools
import numbers
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.composed import _inexact
from jax_ffi_ops.composed.spline_filter import spline_filter
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.ops import spline_filter1d

# With these modes SciPy extends arrays by so many elements, and then filters.
_PADDED = {"nearest": "edge", "grid-constant": "constant"}
_PADDING = 12
_ENDING = ("constant", *_PADDED)  # Behind the ends, nothing changes any more.
_UNROLLED = 36  # More products are sooner compiled as one loop.


def _modulo(x, period):
  """SciPy's, and faster than jnp.mod; what is rounded may be the period."""
  return x - period * jnp.floor(x / period)


def _inside(c, n, mode, order):
  """Returns where, in a line of n elements, the coordinates c are.

  Or it leaves them to `_index`. At a tie of order 0, and at the ends of "wrap",
  it is SciPy's element.
  """
  folds = mode == "wrap" or (order == 0 and mode not in (*_ENDING, "grid-wrap"))
  if n == 1 or not folds:
    return c
  if mode == "wrap":
    period = n - 1
    below, above = period - _modulo(-c, period), _modulo(c, period)
    return jnp.where(c < 0, below, jnp.where(c > period, above, c))
  if mode == "mirror":
    period = 2 * n - 2
    folded = _modulo(jnp.abs(c), period)
    turns = folded >= jnp.where(c < 0, n - 1, n)
    return jnp.where(turns, period - folded, folded)
  period = 2 * n
  folded = _modulo(jnp.where(c < 0, -1 - c, c), period)
  return jnp.where(folded >= n, period - 1 - folded, folded)


def _is_clipped(mode, order):
  """Whether all elements that count are in a line, or just behind it."""
  return mode in _PADDED or (mode == "constant" and order < 2)


def _index(k, n, mode, order):
  """Returns which coefficient of a line of n is the k-th of an endless one."""
  if _is_clipped(mode, order) or n == 1:
    if mode == "constant" and order == 1:
      k = jnp.where(k == n, n - 2, k)  # As SciPy: it may be an infinity.
    return jnp.clip(k, 0, n - 1)
  return spline_filter1d.extended(k, n, spline_filter1d.EXTENSIONS[mode])


def _weights(u, order):
  """Returns the B-splines of an order above 0 at u, from 0 to 1.

  By de Boor's recursion for knots whose distance is 1.
  """
  weights = [1 - u, u]
  for d in range(2, order + 1):
    rising = [(d - 1 - j + u) * w / d for j, w in enumerate(weights)]
    falling = [(1 - u + j) * w / d for j, w in enumerate(weights)]
    inner = map(operator.add, rising[:-1], falling[1:])
    weights = [falling[0], *inner, rising[-1]]
  return weights


def _taps(c, n, order, mode):
  """Returns what a value at c is made of, along one axis.

  Returns:
    By taps, the places of coefficients, which are outside, and their weights.
  """
  at = _inside(c, n, mode, order) + (0 if order % 2 else 0.5)
  first = jnp.floor(at)
  start = first.astype(int)
  if order > 1:  # Of order 1, what is too large has the weight 0.
    if mode in _ENDING:
      start = jnp.clip(start, -8, n + 8)
    start = start - order // 2
  places = [start + i for i in range(order + 1)]
  outside = [(k < 0) | (k >= n) for k in places]
  places = [_index(k, n, mode, order) for k in places]
  if order == 0:
    # NaN, or 1; jnp.nan would be an error under jax.debug_nans.
    return (
        places,
        outside,
        [jnp.where(jnp.isnan(at), jax.lax.stop_gradient(at), 1)],
    )
  u = at - first
  if mode in _ENDING:  # Infinity is outside. All coefficients there are equal.
    u = jnp.where(jnp.abs(at) > 2**30, 0, u)
  return places, outside, _weights(u, order)


def _interpolated(coefficients, coordinates, order, mode, cval):
  """Adds up products of coefficients and weights."""
  shape, values = coefficients.shape, coefficients
  axes = [_taps(c, n, order, mode) for c, n in zip(coordinates, shape)]
  # XLA computes an index wherever it needs it, but a tuple of indices once. One
  # index is sooner used. It pays where it is cheap, and there are many. It has
  # 32 bits.
  is_flat = order > 0 and _is_clipped(mode, order)
  is_flat &= isinstance(values.size, int) and values.size < 2**31
  if is_flat:
    values = values.reshape(-1)

  def product(choice):
    index, weight, is_out = (), 1, False
    for n, i, (places, outside, weights) in zip(shape, choice, axes):
      if is_flat and index:
        index = (index[0] * n + places[i],)
      else:
        index = (*index, places[i])
      weight, is_out = weight * weights[i], is_out | outside[i]
    # Of coordinates that are no numbers, XLA moves an index inside.
    value = values.at[index].get(
        mode="promise_in_bounds", wrap_negative_indices=False
    )
    if mode == "grid-constant":
      value = jnp.where(is_out, cval, value)
    return value * weight

  choices = np.indices((order + 1,) * len(shape)).reshape(len(shape), -1).T
  if len(choices) <= _UNROLLED:
    y = functools.reduce(operator.add, map(product, choices.tolist()))
  else:
    axes = [[jnp.stack(x) for x in taps] for taps in axes]
    y = jnp.sum(jax.vmap(product)(choices), axis=0)
  if mode != "constant":
    return y
  outside = [(c < 0) | (c > n - 1) for c, n in zip(coordinates, shape)]
  return jnp.where(functools.reduce(operator.or_, outside), cval, y)


@kit.public(*kit.ops_of(spline_filter))
def map_coordinates(
    input: jax.Array,
    coordinates: Sequence[jax.Array],
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
    *,
    output: Any = None,
) -> jax.Array:
  """Interpolates an array by splines, as scipy.ndimage.map_coordinates does.

  It replaces jax.scipy.ndimage.map_coordinates, which has only the orders 0 and
  1. The order of arguments is jax's; SciPy has `output` before `order`. The
  derivatives with respect to the coordinates are the slopes of the spline.

  Args:
    input: an array of numbers, of rank r.
    coordinates: r arrays of indices, which need not be integers, one for each
      axis of `input`. They broadcast to one shape.
    order: the order of the splines, from 0 to 5.
    mode: how `input` continues beyond its ends. "constant": the result is cval
      there. "grid-constant": `input` continues with elements cval, and the
      spline goes through them. "nearest": with its last element. "mirror",
      "reflect" and "grid-wrap": as for `spline_filter1d`. "grid-mirror" is
      "reflect". "wrap": from the other end, where both ends are one point.
    cval: a number, for the modes "constant" and "grid-constant".
    prefilter: whether `input` has the values of the splines. If False, it has
      their coefficients, as `spline_filter` returns them.
    output: the dtype of the values; by default that of `input`.

  Returns:
    The values at the coordinates: an array of their shape. They are computed in
    the dtype to which `input` and coordinates promote, at least in float32 and
    in that of the result. If that is of integers, they are rounded, halves away
    from 0.

  Raises:
    TypeError: input or coordinates are no numbers, coordinates are complex,
      cval is where `input` is not, or output is no dtype of numbers.
    ValueError: shapes do not fit, an axis of `input` is empty, or there is no
      such order or mode.
  """
  spline_filter1d.checked("map_coordinates", order, mode, range(6))
  x = arguments.numeric("map_coordinates", "input", input)
  if not isinstance(coordinates, Sequence | jax.Array | np.ndarray):
    raise TypeError(
        f"map_coordinates: coordinates must be arrays, got {coordinates!r}."
    )
  if not isinstance(cval, numbers.Number | jax.Array | np.ndarray):
    raise TypeError(f"map_coordinates: cval must be a number, got {cval!r}.")
  coordinates = [
      arguments.numeric("map_coordinates", "coordinates", c)
      for c in coordinates
  ]
  for c in coordinates:
    if jnp.issubdtype(c.dtype, jnp.complexfloating):
      raise TypeError(
          f"map_coordinates: coordinates must be real numbers, got {c.dtype}."
      )
  if jnp.iscomplexobj(cval) and not jnp.iscomplexobj(x):
    raise TypeError(f"map_coordinates: cval must be real, got {cval}.")
  if np.ndim(cval):
    raise ValueError(f"map_coordinates: cval must be a number, got {cval}.")
  if len(coordinates) != x.ndim or not x.ndim:
    raise ValueError(
        f"map_coordinates: input of shape {x.shape} must have an axis for each"
        f" of the {len(coordinates)} coordinates."
    )
  dtype = spline_filter1d.output_dtype("map_coordinates", output, x.dtype)
  if not x.size:
    raise ValueError(f"map_coordinates: input of shape {x.shape} is empty.")
  given = x, *coordinates
  inexact = [a for a in given if jnp.issubdtype(a.dtype, jnp.inexact)]
  wide = _inexact.dtype(*(inexact or given))
  wide = spline_filter1d.wide_dtype(wide, dtype)
  values, cval = x.astype(wide), jnp.asarray(cval, wide)
  real = jnp.zeros((), wide).real.dtype
  coordinates = jnp.broadcast_arrays(*(c.astype(real) for c in coordinates))
  if prefilter and order > 1:
    if mode in _PADDED:
      filling = {} if mode == "nearest" else {"constant_values": cval}
      values = jnp.pad(values, _PADDING, _PADDED[mode], **filling)
      coordinates = [c + _PADDING for c in coordinates]
    values = spline_filter(values, order, mode=mode)
  y = _interpolated(values, coordinates, order, mode, cval)
  if jnp.issubdtype(dtype, np.integer):
    y = jnp.sign(y) * jnp.floor(jnp.abs(y) + 0.5)
  return y.astype(dtype)
