# SPDX-License-Identifier: Apache-2.0
"""Dtypes: which ones an operand may have, and what a weight is converted to."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax
from jax.dtypes import float0
import jax.numpy as jnp
import numpy as np

FLOATING = tuple(map(jnp.dtype, ("float16", "bfloat16", "float32", "float64")))


def accumulator(dtype: Any) -> np.dtype:
  """Returns the dtype in which sums over values of `dtype` are kept."""
  return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def is_differentiable(dtype: Any) -> bool:
  return dtype != float0 and jnp.issubdtype(dtype, jnp.inexact)


def is_allowed(dtype: Any, allowed: Collection[np.dtype] | None) -> bool:
  """Returns whether an operand may have a dtype."""
  if allowed is None or dtype in allowed:
    return True
  # Without x64, jax makes an array of 32 bits of one of 64.
  wide = isinstance(dtype, np.dtype) and dtype.kind in "iufc" and dtype.isnative
  return wide and jax.dtypes.canonicalize_dtype(dtype) in allowed


def _of_weights(weights, dtypes):
  """Yields the names and dtypes of weights that are there, and that of x."""
  for owner in dict.fromkeys(weights.values()):
    own = {
        name: dtypes[name]
        for name, x in weights.items()
        if x == owner and name in dtypes
    }
    if own:
      yield own, dtypes[owner]


def convert_weights(
    weights: Mapping[str, str], operands: Mapping[str, jax.Array]
) -> Mapping[str, jax.Array]:
  """Converts weights to the one dtype in which handlers take them.

  This is that of x, if all weights have it, or that of sums over x. Weights
  that would lose precision stay as they are.
  """
  dtypes = {name: x.dtype for name, x in operands.items()}
  converted = dict(operands)
  for own, dtype in _of_weights(weights, dtypes):
    wide = accumulator(dtype)
    same = all(w == dtype for w in own.values())
    if same or any(w.itemsize > wide.itemsize for w in own.values()):
      continue
    for name in own:
      converted[name] = operands[name].astype(wide)
  return converted


def unserved_weight(
    weights: Mapping[str, str], dtypes: Mapping[str, Any]
) -> str | None:
  """Returns which weight has a dtype that handlers do not take, if any."""
  for own, dtype in _of_weights(weights, dtypes):
    one = next(iter(own.values()))
    if one not in (dtype, accumulator(dtype)):
      return f"{next(iter(own))} has dtype {one}, and x {dtype}"
    if set(own.values()) != {one}:
      return f"the weights {', '.join(own)} have several dtypes"
  return None


def describe(avals: Sequence[tuple[Any, Any]]) -> str:
  """Returns shapes and dtypes as jax writes them: "float32[3]"."""
  return ", ".join(
      f"{dtype}[{','.join(map(str, shape))}]" for shape, dtype in avals
  )
