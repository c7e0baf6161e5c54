# SPDX-License-Identifier: Apache-2.0
"""How far from its definition a value may be, and what is said if it is not."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np


def tolerance(
    expected: np.ndarray,
    dtype: Any,
    terms: int,
    parts: int = 0,
    accumulator: Any = np.float64,
    largest: float | None = None,
) -> np.ndarray:
  """Returns by how much an array of `dtype` may differ from `expected`.

  This is granted, where no term of a sum is larger than `largest`, by default
  the largest result:

  *   The result is rounded to its dtype, and a value that it came from was: one
      unit in the last place.
  *   It was accumulated in float32 at least, from at most `terms` numbers with
      one rounding each; a float64, in `accumulator`.
  *   It is the sum of up to `parts` results, rounded likewise.

  NaN and infinity have to be exact: there, it is as if 0 were expected.
  """
  if not jnp.issubdtype(dtype, jnp.inexact):
    return np.zeros(expected.shape)
  info = jnp.finfo(dtype)
  accumulated = min(float(info.eps), float(np.finfo(np.float32).eps))
  accumulated = max(accumulated, float(np.finfo(accumulator).eps))
  size = np.where(np.isfinite(expected), np.abs(expected), 0)
  if largest is None:
    largest = np.max(size, initial=0)
  return (
      float(info.eps) * (size + parts * largest)
      + terms * accumulated * largest
      + float(info.smallest_normal)
  )


def difference(
    actual: Any, expected: np.ndarray, dtype: Any, allowed: np.ndarray
) -> str | None:
  """Returns what is wrong with an array, or None.

  Raises:
    ValueError: `allowed` has infinities, which allow everything, or NaN, which
      allows nothing.
  """
  if not np.all(np.isfinite(allowed)):
    raise ValueError(f"A tolerance must be finite, got {allowed}.")
  if actual.shape != expected.shape:
    return f"has shape {actual.shape}, not {expected.shape}"
  if actual.dtype != dtype:
    return f"has dtype {actual.dtype}, not {np.dtype(dtype)}"
  actual = np.asarray(actual).astype(expected.dtype)
  if expected.dtype == bool:  # It has no difference.
    actual, expected = actual.astype(np.int8), expected.astype(np.int8)
  with np.errstate(invalid="ignore"):
    error = np.abs(actual - expected)
  same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
  error = np.where(same, 0, np.where(np.isnan(error), np.inf, error))
  wrong = ~(error <= allowed)
  if not wrong.any():
    return None
  excess = np.where(error > 0, error / np.maximum(allowed, 1e-300), 0)
  worst = np.unravel_index(np.argmax(excess), error.shape)
  index = f" at {[int(i) for i in worst]}" if worst else ""
  return (
      f"is off by {error[worst]:.3g}{index}, where {allowed[worst]:.3g} is"
      f" allowed: got {actual[worst]:.9g}, expected {expected[worst]:.9g};"
      f" {wrong_elements(wrong)}"
  )


def wrong_elements(wrong: np.ndarray) -> str:
  """Says how many elements are wrong, and which is the first of several."""
  count = wrong.sum()
  first = np.unravel_index(np.argmax(wrong), wrong.shape)
  return f"{count} of {wrong.size} elements are wrong" + (
      f", first at {[int(i) for i in first]}" if count > 1 else ""
  )


class Near(NamedTuple):
  """A value, and by how much an array may differ from it."""

  value: np.ndarray
  dtype: Any
  allowed: np.ndarray

  def problem(self, actual: Any) -> str | None:
    """Returns what is wrong with an array, or None."""
    return difference(actual, self.value, self.dtype, self.allowed)


def different(first: Sequence[Any], second: Sequence[Any]) -> list[int]:
  """Returns the indices of arrays that have not the same bits."""
  return [
      index
      for index, (a, b) in enumerate(zip(first, second, strict=True))
      if np.asarray(a).tobytes() != np.asarray(b).tobytes()
  ]
