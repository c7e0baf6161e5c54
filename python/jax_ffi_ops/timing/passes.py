# SPDX-License-Identifier: Apache-2.0
"""The passes of a function of JAX: forward, backward, and both."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.dtypes import float0
import jax.numpy as jnp
import numpy as np


def tupled(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
  """Returns the function, with all its results in a tuple."""
  return lambda *operands: tuple(jax.tree.leaves(function(*operands)))


def run(
    function: Callable[..., Any],
    direction: str,
    operands: Sequence[jax.Array],
    cotangents: Sequence[jax.Array],
) -> tuple[jax.Array, ...]:
  """Returns a tuple: results, or gradients, or both.

  Of integers there are neither gradients nor cotangents.
  """
  if direction == "forward":
    return tupled(function)(*operands)
  results, vjp = jax.vjp(tupled(function), *operands)
  gradients = pull_back(vjp, results, cotangents)
  return gradients if direction == "backward" else results + gradients


def pull_back(
    vjp: Callable[..., Any],
    results: Sequence[Any],
    cotangents: Sequence[jax.Array],
) -> tuple[jax.Array, ...]:
  """Returns the gradients that a function of `jax.vjp` makes of cotangents."""
  left = iter(cotangents)
  is_float = lambda x: jnp.issubdtype(x.dtype, jnp.inexact)
  zeros = lambda x: np.zeros(x.shape, float0)
  gradients = vjp(
      tuple(next(left) if is_float(x) else zeros(x) for x in results)
  )
  return tuple(x for x in gradients if x.dtype != float0)
