# SPDX-License-Identifier: Apache-2.0
"""Numbers that know by how much a computation with roundings may miss them.

A definition in plain NumPy, called with Bounded arrays, returns values in high
precision and, for each, a bound of what rounding may have made of it. Nothing
is guessed: every operation adds the error of its operands, multiplied as the
operation multiplies it, and its own. With the unit roundoff u, n roundings are a
relative error of at most gamma(n) = n u / (1 - n u); see Higham, Accuracy and
Stability of Numerical Algorithms, Lemma 3.1. A fused multiplication and
addition rounds once where two roundings are counted.

Values have the range of the arithmetic, too: what is too large becomes inf, and
on the CPU what is subnormal becomes zero, since XLA has its threads do so.
"""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing.exactness.einsum import einsum
from jax_ffi_ops.kit.testing.exactness.interval import Interval
from jax_ffi_ops.kit.testing.exactness.rounding import column_additions
from jax_ffi_ops.kit.testing.exactness.rounding import gamma
from jax_ffi_ops.kit.testing.exactness.rounding import in_range
from jax_ffi_ops.kit.testing.exactness.rounding import round_to
from jax_ffi_ops.kit.testing.exactness.rounding import WIDE

# How many roundings a function's error is, if it is not one: exp_sums.h and
# CUDA's functions are right to 2 units in the last place.
_ROUNDINGS = {np.exp: 4, np.log: 4, np.tanh: 4}


class Bounded(np.lib.mixins.NDArrayOperatorsMixin):
  """An array as a computation has it.

  Attributes:
    value: what it is without any rounding.
    error: how far from that the computation's may be.
    dtype: of the computation.
    storage: the dtype of the array in memory, if `load` made it of one.
  """

  storage: np.dtype

  def __init__(self, value: Any, dtype: Any, error: Any = 0):
    value = in_range(np.asarray(value, WIDE), dtype)
    self.value = value
    self.dtype = np.dtype(dtype)
    error = np.broadcast_to(np.asarray(error, WIDE), value.shape)
    error = np.where(np.isnan(error), np.inf, error)
    self.error = np.where(np.isfinite(value), error, 0)

  @classmethod
  def load(cls, array: np.ndarray, dtype: Any) -> "Bounded":
    """Returns the elements of an array for a computation in `dtype`."""
    loaded = cls(in_range(array.astype(WIDE), array.dtype), dtype)
    loaded.storage = array.dtype
    return loaded

  @property
  def shape(self) -> tuple[int, ...]:
    return self.value.shape

  @property
  def ndim(self) -> int:
    return self.value.ndim

  def __getitem__(self, index: Any) -> "Bounded":
    return Bounded(self.value[index], self.dtype, self.error[index])

  def map(self, function: Any) -> "Bounded":
    """Returns this with `function` applied to its arrays: another layout."""
    return Bounded(function(self.value), self.dtype, function(self.error))

  def __array_ufunc__(self, ufunc, method, *operands, **kwargs):
    if ufunc is np.power and isinstance(operands[1], int) and operands[1] == 2:
      ufunc, operands = np.square, operands[:1]
    if method != "__call__" or kwargs or ufunc not in _PROPAGATED:
      raise _unknown(ufunc)
    operands = [self._operand(x) for x in operands]
    values = [x.value for x in operands]
    with np.errstate(all="ignore"):
      value = ufunc(*values)
      error = _PROPAGATED[ufunc](value, *operands)
      if ufunc not in _EXACT:
        error = self._rounded(value, error, _ROUNDINGS.get(ufunc, 1))
      if ufunc in (np.add, np.subtract):
        # Of two numbers that are known there is one sum, rounded once: WIDE
        # would round it, too.
        known = (operands[0].error == 0) & (operands[1].error == 0)
        once = ufunc(*(x.astype(self.dtype) for x in values))
        value = np.where(known, once, value)
        error = np.where(known, 0, error)
    return Bounded(value, self.dtype, error)

  def _operand(self, x):
    if isinstance(x, Bounded):
      return x
    value = np.asarray(x, WIDE)
    with np.errstate(all="ignore"):
      # A number becomes one of the arithmetic's.
      error = np.abs(value.astype(self.dtype).astype(WIDE) - value)
    return Bounded(value, self.dtype, error)

  def _rounded(self, size, error, roundings):
    size = np.abs(size)
    error = error + (size + error) * gamma(roundings, self.dtype)
    # A part of a result may have been subnormal.
    return error + np.where(error > 0, jnp.finfo(self.dtype).smallest_normal, 0)

  def __array_function__(self, function, types, args, kwargs):
    if function is np.einsum:
      return einsum(*args, **kwargs)
    if function in _COPIES:
      return self._copied(*_COPIES[function](*args, **kwargs))
    if function not in _REDUCTIONS or not isinstance(args[0], Bounded):
      raise _unknown(function)
    return _REDUCTIONS[function](*args, **kwargs)

  def _copied(self, function, arrays):
    """Returns `function` of some arrays, whose elements it copies."""
    arrays = [self._operand(x) for x in arrays]
    value = function([x.value for x in arrays])
    error = function([x.error for x in arrays])
    # Where nothing is computed, subnormal numbers are not flushed.
    least = jnp.finfo(self.dtype).smallest_normal
    return Bounded(value, self.dtype, error + np.where(value == 0, least, 0))

  # Reductions over one axis.

  def sum(self, axis=None, *, keepdims=False, additions=None):
    """Returns the sum of columns, or one of so many additions."""
    _check_axis(axis)
    if additions is None:
      additions = column_additions(self.value.shape[axis])
    total = functools.partial(np.sum, axis=axis, keepdims=keepdims)
    with np.errstate(all="ignore"):
      value, error = total(self.value), total(self.error)
      size = total(np.abs(self.value))
      error = error + (size + error) * gamma(additions, self.dtype)
    return Bounded(value, self.dtype, error)

  def mean(self, axis=None, *, keepdims=False):
    _check_axis(axis)
    return self.sum(axis, keepdims=keepdims) / self.value.shape[axis]

  def max(self, axis=None, *, keepdims=False, initial=-np.inf):
    _check_axis(axis)
    largest = functools.partial(np.max, axis=axis, keepdims=keepdims)
    with np.errstate(invalid="ignore"):
      value = largest(self.value, initial=initial)
      return Bounded(value, self.dtype, largest(self.error, initial=0))

  def rounded(self, dtype: Any) -> Interval:
    """Returns what there may be after rounding to `dtype`."""
    with np.errstate(invalid="ignore"):
      low, high = self.value - self.error, self.value + self.error
    return Interval(round_to(low, dtype), round_to(high, dtype), dtype)

  def through(self, dtype: Any) -> "Bounded":
    """Returns this, rounded to `dtype` and loaded again."""
    interval = self.rounded(dtype)
    with np.errstate(invalid="ignore"):
      middle = (interval.low + interval.high) / 2
      middle = np.where(np.isfinite(middle), middle, self.value)
      middle = np.where(interval.low == interval.high, interval.low, middle)
      return Bounded(middle, self.dtype, interval.high - middle)


def _check_axis(axis):
  if not isinstance(axis, int):
    raise TypeError(
        f"sum, mean and max need one axis, not {axis}: a definition gets its"
        " operands with loop dimensions in front, [loops..., core...]. The last"
        " core axis is -1."
    )


def _product(value, a, b):
  del value
  return (
      np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error
  )


def _quotient(value, a, b):
  least = np.abs(b.value) - b.error
  error = (a.error + np.abs(value) * b.error) / least
  return np.where((a.error == 0) & (b.error == 0), 0,
                  np.where(least > 0, error, np.inf))  # fmt: skip


def _root(value, a):
  low = np.sqrt(np.maximum(a.value - a.error, 0))
  error = np.fmin(a.error / (value + low), np.sqrt(a.error))
  return np.where(a.error == 0, 0, error)


_REDUCTIONS = {
    np.sum: Bounded.sum,
    np.mean: Bounded.mean,
    np.max: Bounded.max,
}


def _where(condition, x, y):
  if isinstance(condition, Bounded):
    raise TypeError("The condition of numpy.where must be a plain array.")
  return lambda xs: np.where(condition, *xs), (x, y)


# Functions that round nothing: what to call with a list of arrays, and these.
_COPIES = {
    np.concatenate: lambda xs, axis=0: (
        lambda xs: np.concatenate(xs, axis),
        xs,
    ),
    np.stack: lambda xs, axis=0: (lambda xs: np.stack(xs, axis), xs),
    np.flip: lambda x, axis=None: (lambda xs: np.flip(xs[0], axis), [x]),
    np.where: _where,
}


def _unknown(function):
  return TypeError(
      f"A definition cannot use numpy.{function.__name__}. It can use"
      " arithmetic, exp, log, sqrt, tanh, abs, maximum, minimum, einsum,"
      " concatenate, stack, flip, where (of a comparison of x.value), and sum,"
      " mean and max over one axis."
      " For another layout, it calls x.map(function); for all else, it returns"
      " Bounded(value, dtype, error)."
  )


# What errors of operands become in a result.
_PROPAGATED = {
    np.add: lambda value, a, b: a.error + b.error,
    np.subtract: lambda value, a, b: a.error + b.error,
    np.multiply: _product,
    np.divide: _quotient,
    np.square: lambda value, a: _product(value, a, a),
    np.sqrt: _root,
    np.exp: lambda value, a: value * np.expm1(a.error),
    np.log: lambda value, a: -np.log1p(-np.minimum(a.error / a.value, 1)),
    np.tanh: lambda value, a: a.error,
    np.negative: lambda value, a: a.error,
    np.absolute: lambda value, a: a.error,
    np.maximum: lambda value, a, b: np.maximum(a.error, b.error),
    np.minimum: lambda value, a, b: np.maximum(a.error, b.error),
}
_EXACT = {np.negative, np.absolute, np.maximum, np.minimum}
