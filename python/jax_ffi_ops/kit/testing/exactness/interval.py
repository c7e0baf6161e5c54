# SPDX-License-Identifier: Apache-2.0
"""What a result may be: anything from a lowest to a highest value."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing.exactness import checks


class Interval(NamedTuple):
  """Arrays of the least and the largest values that are right; NaN is NaN."""

  low: np.ndarray
  high: np.ndarray
  dtype: Any

  @property
  def shape(self) -> tuple[int, ...]:
    return self.low.shape

  def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "Interval":
    """Returns this with `function` applied to its arrays: another layout."""
    return Interval(function(self.low), function(self.high), self.dtype)

  def problem(self, actual: Any) -> str | None:
    """Returns what is wrong with an array, or None."""
    if actual.shape != self.shape:
      return f"has shape {actual.shape}, not {self.shape}"
    if actual.dtype != self.dtype:
      return f"has dtype {actual.dtype}, not {np.dtype(self.dtype)}"
    got = np.asarray(actual).astype(self.low.dtype)
    # A subnormal result may be flushed.
    floating = jnp.issubdtype(self.dtype, jnp.inexact)
    tiny = jnp.finfo(self.dtype).smallest_normal if floating else 0
    low = np.where((self.low > 0) & (self.low < tiny), 0, self.low)
    high = np.where((self.high < 0) & (self.high > -tiny), 0, self.high)
    right = (low <= got) & (got <= high)
    right |= np.isnan(got) & (np.isnan(low) | np.isnan(high))
    if right.all():
      return None
    with np.errstate(invalid="ignore", over="ignore"):
      excess = np.fmax(low - got, got - high)
    excess = np.where(right, -1, np.where(np.isnan(excess), np.inf, excess))
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    index = f" at {[int(i) for i in worst]}" if worst else ""
    return (
        f"is wrong{index}: got {got[worst]:.9g}, expected {low[worst]:.9g} to"
        f" {high[worst]:.9g}; {checks.wrong_elements(~right)}"
    )
