# SPDX-License-Identifier: Apache-2.0
"""Dtypes: which ones an operand may have, and what a weight is converted to."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
import contextlib
import functools
from typing import Any

import jax
from jax.dtypes import float0
import jax.numpy as jnp
import numpy as np

_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))

# For `dtypes` of `kit.op`: the floating-point dtypes that JAX computes in.
FLOATING = tuple(map(jnp.dtype, ("float16", "bfloat16", "float32", "float64")))

# Those of numbers that have an order, and bool.
ORDERED = (
    FLOATING
    + tuple(
        map(np.dtype, ("int8", "int16", "int32", "int64", "uint8", "uint16"))
    )
    + tuple(map(np.dtype, ("uint32", "uint64", "bool")))
)

# Those of ORDERED but bool.
NUMBERS = tuple(dtype for dtype in ORDERED if dtype != bool)


def accumulator(dtype: Any) -> np.dtype:
  """Returns the dtype of sums over values of `dtype`."""
  return np.dtype(np.float64 if dtype == np.float64 else np.float32)


@functools.cache
def widened(*dtypes: Any) -> np.dtype:
  """Returns what dtypes and float32 promote to, also where jax is strict.

  A user's jax.numpy_dtype_promotion("strict") is about the user's operands.
  """
  with jax.numpy_dtype_promotion("standard"):
    return functools.reduce(jnp.promote_types, dtypes, np.dtype(np.float32))


def is_differentiable(dtype: Any) -> bool:
  return dtype != float0 and jnp.issubdtype(dtype, jnp.inexact)


def allowed(op: str, dtypes: Any, operand: str) -> frozenset[np.dtype] | None:
  """Returns the dtypes that `dtypes` of a declaration has for an operand.

  Raises:
    TypeError: there are none, or they are no dtypes.
  """
  if isinstance(dtypes, Mapping):
    dtypes = dtypes.get(operand)
  if dtypes is None:
    return None
  try:
    found = frozenset(map(jnp.dtype, dtypes))
  except TypeError:
    found = None
  if not found:
    raise TypeError(
        f"{op}: `dtypes` of {operand} must be one or several dtypes, got"
        f" {dtypes!r}."
    )
  return found


def is_allowed(dtype: Any, allowed: Collection[np.dtype] | None) -> bool:
  """Returns whether an operand may have a dtype."""
  if allowed is None or dtype in allowed:
    return True
  # Without x64, jax makes an array of 32 bits of one of 64.
  wide = isinstance(dtype, np.dtype) and dtype.kind in "iufc" and dtype.isnative
  return wide and jax.dtypes.canonicalize_dtype(dtype) in allowed


def check(what: str, dtype: Any, allowed: Collection[np.dtype] | None) -> None:
  """Raises TypeError unless an operand may have a dtype."""
  if not is_allowed(dtype, allowed):
    names = " or ".join(sorted(d.name for d in allowed))
    raise TypeError(f"{what} must have dtype {names}, got {dtype}.")


def keeping_64_bits(arrays: Iterable[Any]) -> contextlib.AbstractContextManager:
  """Returns a context in which jax computes with arrays in their own dtypes.

  An array that was made under jax.enable_x64 keeps its 64 bits outside of it.
  """
  dtypes = (getattr(getattr(x, "aval", x), "dtype", None) for x in arrays)
  if jax.config.jax_enable_x64 or _WIDE.isdisjoint(dtypes):
    return contextlib.nullcontext()
  return jax.enable_x64(True)


def in_64_bits_if_given(rule: Callable[..., Any]) -> Callable[..., Any]:
  """Has a rule of a primitive compute in the dtypes of what it is given."""

  @functools.wraps(rule)
  def wrapped(*args, **params):
    # A leaf is also what says what to find: ad.Zero and ad.UndefinedPrimal.
    leaves = jax.tree.leaves(args, is_leaf=lambda x: hasattr(x, "aval"))
    with keeping_64_bits(leaves):
      return rule(*args, **params)

  return wrapped


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
