# SPDX-License-Identifier: Apache-2.0
"""The definition of rms_norm in NumPy, and how far an op may be from it.

Values are computed in a wider type than the op's, and so are nearly exact, but
have the range of the op's arithmetic: what is too large for the type that it
accumulates in becomes inf. On the CPU a subnormal becomes zero, because XLA:CPU
flushes them (not float16's: they are normal in float32, which float16 is
computed in); a GPU keeps them.

Errors are bounded by counting roundings: n of them make a relative error of at
most gamma(n) (Higham, Accuracy and Stability of Numerical Algorithms, Lemma
3.1). A term of a sum is rounded as often as something is added to it, which
the order of the sum decides: the kernels' are counted here.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

# More precise than float64, where the platform has such a type.
_WIDE = np.longdouble

# rms_norm.cc adds up blocks of so many columns, and then the blocks.
_BLOCK = 1024


# Threads of a GPU add up their rows, and then the blocks' sums are added: of as
# many blocks as it runs at once, 1024 at most, and 132 or more on a large one.
_LEAST_BLOCKS, _MOST_BLOCKS = 64, 1024


@functools.cache
def on_gpu():
  return jax.default_backend() == "gpu"


# In a GPU's threads a sum of columns has fewer additions than this.
def _column_additions(cols):
  return min(cols, _BLOCK) + -(-cols // _BLOCK)


def _row_additions(rows, groups):
  if on_gpu():
    return min(rows, -(-rows // _LEAST_BLOCKS) + _MOST_BLOCKS)
  # sum_rows.h: each group of rows makes up to 64 parts of 8 rows or more, and
  # rms_norm.cc adds up 4 rows (3 additions), these, and up to 3 rows left over.
  parts = max(1, min(rows // 8, 64 // max(1, min(groups, 64))))
  return min(rows, 6 + -(-rows // parts) // 4 + parts)


class Expected(NamedTuple):
  """A value in high precision, and how far from it is still right."""

  value: np.ndarray
  error: np.ndarray

  def check(self, actual):
    """Fails unless `actual` is within `error`; NaN and inf have to be equal."""
    actual = np.asarray(actual).astype(_WIDE)
    np.testing.assert_array_equal(actual.shape, self.value.shape)
    finite = np.isfinite(self.value)
    np.testing.assert_array_equal(actual[~finite], self.value[~finite])
    error = np.where(finite, self.error, 1)
    np.testing.assert_array_less(error, np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
      distance = np.where(finite, np.abs(actual - self.value), 0)
      worst = np.max(np.where(distance == 0, 0, distance / error), initial=0)
    if not worst <= 1:
      raise AssertionError(
          f"{worst} times the error that rounding explains: got\n{actual},"
          f" expected\n{self.value}\nwithin\n{self.error}"
      )

  def __getitem__(self, index):
    return Expected(self.value[index], self.error[index])


def normal(shape, dtype, seed=0):
  """Returns normally distributed input."""
  rng = np.random.default_rng([seed, *shape])
  return rng.standard_normal(shape).astype(jnp.dtype(dtype))


def accumulator(dtype):
  """The dtype that rms_norm computes in for x of `dtype`."""
  return np.dtype("float64" if dtype == "float64" else "float32")


def gamma(roundings, dtype):
  """The relative error of a result of so many roundings to `dtype`."""
  error = roundings * _WIDE(jnp.finfo(dtype).eps) / 2
  return error / (1 - error)


def rstd(x, eps):
  """Returns 1 / sqrt(mean(x^2) + eps) of each row, and its relative error."""
  acc = accumulator(x.dtype)
  keep = functools.partial(_in_range, acc)
  with np.errstate(all="ignore"):
    total = keep(keep(_load(x) ** 2).sum(-1))
    mean = keep(total / _WIDE(x.shape[-1]) + keep(_WIDE(eps)))
    value = keep(1 / np.sqrt(mean))
  # Square, sum, division, eps and its addition, all halved by the root; the
  # root and the reciprocal.
  return value, gamma((_column_additions(x.shape[-1]) + 4) / 2 + 2, acc)


def forward(x, scale=None, eps=1e-6):
  """Returns what rms_norm(x, scale, eps) is; loop dimensions broadcast."""
  acc = accumulator(x.dtype)
  r, error = rstd(x, eps)
  with np.errstate(all="ignore"):
    y = _in_range(acc, _load(x) * r[..., None])
    if scale is not None:
      y = y * _load(scale)
  return _rounded(y, np.abs(y), error + gamma(2, acc), x.dtype)


def backward(x, scale, r, dy, *, summed=(), rstd_error=0):
  """Returns what the gradients with respect to x and scale are.

  Args:
    x, scale, dy: operands that broadcast, as does r[..., None]; scale or None.
    r: reciprocal root mean square of the rows, known to `rstd_error`.
    summed: leading axes that the gradient of scale is the sum over.
  """
  acc = accumulator(x.dtype)
  cols = x.shape[-1]
  with np.errstate(all="ignore"):
    r = np.asarray(r, _WIDE)[..., None]
    xhat = _load(x) * r
    g = _load(dy) * (_WIDE(1) if scale is None else _load(scale))
    mean = (g * xhat).sum(-1, keepdims=True) / _WIDE(cols)
    mean_size = np.abs(g * xhat).sum(-1, keepdims=True) / _WIDE(cols)
    dx = r * (g - xhat * mean)
    # Nothing is relative to dx itself: its terms may cancel each other.
    dx_size = np.abs(r) * (np.abs(g) + np.abs(xhat) * mean_size)
  # r three times; xhat twice, g, their product, sum and division by cols, two
  # more products and a difference.
  roundings = _column_additions(cols) + 8
  dx = _rounded(dx, dx_size, 3 * rstd_error + gamma(roundings, acc), x.dtype)
  if scale is None:
    return dx, None
  terms = np.broadcast_to(_load(dy) * xhat, dx.value.shape)
  rows = np.prod([terms.shape[axis] for axis in summed], dtype=int)
  groups = np.prod(terms.shape[:-1], dtype=int) // max(rows, 1)
  roundings = 2 + _row_additions(rows, groups)
  dscale = _rounded(
      terms.sum(axis=tuple(summed)),
      np.abs(terms).sum(axis=tuple(summed)),
      rstd_error + gamma(roundings, acc),
      scale.dtype,
  )
  return dx, dscale


def gradient(x, scale, dy, eps=1e-6):
  """Returns what the gradients of sum(dy * rms_norm(x, scale, eps)) are."""
  r, error = rstd(x, eps)
  summed = range(x.ndim - 1)
  return backward(x, scale, r, dy, summed=summed, rstd_error=error)


def _load(array):
  return _in_range(array.dtype, array.astype(_WIDE))


def _in_range(dtype, value):
  info = jnp.finfo(dtype)
  size = np.abs(value)
  if dtype != "float16" and not on_gpu():
    value = np.where(size < info.smallest_normal, np.copysign(0, value), value)
  return np.where(size > info.max, np.copysign(np.inf, value), value)


def _rounded(value, size, relative_error, dtype):
  """Rounds to `dtype` what is `relative_error` of `size` away from `value`."""
  info = jnp.finfo(dtype)
  error = size * relative_error
  error += (np.abs(value) + error) * gamma(1, dtype)
  # Subnormals are rounded in float16 and may be flushed in other types.
  if dtype == "float16":
    error += _WIDE(info.smallest_subnormal) / 2
  else:
    error += _WIDE(info.smallest_normal)
  value = np.where(np.abs(value) > info.max, np.copysign(np.inf, value), value)
  return Expected(value, error)
