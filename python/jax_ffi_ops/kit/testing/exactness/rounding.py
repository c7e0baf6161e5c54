# SPDX-License-Identifier: Apache-2.0
"""Roundings: how large their errors are, and how many there are in sums.

n of them are a relative error of at most gamma(n) = n u / (1 - n u), with the
unit roundoff u: Higham, Accuracy and Stability of Numerical Algorithms, Lemma
3.1.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# More precise than float64, where the platform has such a type.
WIDE = np.longdouble


def gamma(roundings: float, dtype: Any) -> np.longdouble:
  """Returns the relative error of a result of so many roundings to `dtype`."""
  error = roundings * WIDE(jnp.finfo(dtype).eps) / 2
  return error / (1 - error)


@functools.cache
def on_gpu() -> bool:
  """Whether handlers run on a GPU, whose arithmetic has subnormals."""
  return jax.default_backend() != "cpu"


def in_range(value: np.ndarray, dtype: Any) -> np.ndarray:
  """Returns what `dtype` has in place of numbers out of its range."""
  info = jnp.finfo(dtype)
  size = np.abs(value)
  # float16 is computed in float32, where all of its numbers are normal.
  if dtype != np.float16 and not on_gpu():
    subnormal = (size < WIDE(info.smallest_normal)) & (size > 0)
    if subnormal.any():
      value = np.where(subnormal, np.copysign(0, value), value)
  # What is nearer to the largest number than to twice that is rounded to it.
  large = size > WIDE(info.max) * (1 + WIDE(info.eps) / 4)
  return (
      np.where(large, np.copysign(np.inf, value), value)
      if large.any()
      else value
  )


def row_additions(rows: int, groups: int) -> int:
  """Returns how many additions a term of a sum over rows goes through."""
  if on_gpu():
    # Threads of a GPU add up their rows, and then the sums of blocks are added:
    # of 64 at least on a large one, and of 1024 at most.
    return min(rows, -(-rows // 64) + 1024)
  # sum_rows.h: each group of rows makes up to 64 parts of 8 rows or more.
  # long_sums.h: a part has blocks of 64 rows. The sums of blocks, and then those
  # of parts, are added with compensation.
  parts = max(1, min(rows // 8, 64 // max(1, min(groups, 64))))
  block = min(64, -(-rows // parts))
  return min(rows, block + 2)


def column_additions(count: int) -> int:
  """Returns how many additions a term of a sum over a row goes through."""
  # row_total.h: a lane adds 16 terms at a time, and then 16 of these sums; up to
  # 32 lanes are added in pairs, and pieces of 2048 columns or more with
  # compensation. A GPU's threads need no more.
  return max(0, min(count - 1, 16 + 16 + 5 + 2))


def round_to(value: np.ndarray, dtype: Any) -> np.ndarray:
  """Returns the nearest numbers of `dtype`, subnormal ones too."""
  info = jnp.finfo(dtype)
  _, exponent = np.frexp(value)
  unit = np.ldexp(
      WIDE(1), np.maximum(exponent, info.minexp + 1) - info.nmant - 1
  )
  with np.errstate(invalid="ignore"):
    rounded = np.rint(value / unit) * unit
  rounded = np.where(np.isfinite(value), rounded, value)
  too_large = np.abs(rounded) > WIDE(info.max)
  return np.where(too_large, np.copysign(np.inf, value), rounded)
