# SPDX-License-Identifier: Apache-2.0
"""How tests of ops draw their cases: always the same ones."""

from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis import strategies

from jax_ffi_ops.kit.testing.conformance.base import THOROUGH


def many(*drawn: Any) -> Callable[[Any], Any]:
  """Runs a test with many draws of its arguments."""
  often = hypothesis.settings(
      database=None,
      deadline=None,
      derandomize=True,
      max_examples=400 if THOROUGH else 12,
      suppress_health_check=list(hypothesis.HealthCheck),
  )
  return lambda test: often(hypothesis.given(*drawn)(test))


@strategies.composite
def axes(draw) -> tuple[tuple[int, ...], int, bool]:
  """Draws a shape, maybe an empty one, an axis of it, and a direction."""
  sizes = strategies.lists(strategies.integers(0, 40), min_size=1, max_size=3)
  shape = tuple(draw(sizes))
  axis = draw(strategies.integers(-len(shape), len(shape) - 1))
  return shape, axis, draw(strategies.booleans())


@strategies.composite
def zeros(draw, size: int) -> list[int]:
  """Draws places in an array of so many elements, where it is to be zero."""
  if not size:
    return []
  return draw(strategies.lists(strategies.integers(0, size - 1), max_size=3))
