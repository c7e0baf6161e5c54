# SPDX-License-Identifier: Apache-2.0
"""For functions that take the place of one of jax.numpy."""

from collections.abc import Callable, Collection
import inspect
import numbers
import operator
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.kit.function import Op
from jax_ffi_ops.kit.operands import ARRAYS

# The most elements that indices of 32 bits are enough for.
MOST_INDEXED = 2**31

_Function = TypeVar("_Function", bound=Callable[..., Any])


def documented(text: str, **words: str) -> Callable[[_Function], _Function]:
  """Adds to a docstring what it has in common with others.

  Args:
    text: where `{name}` stands for the name of the function.
    **words: for other places of the text.
  """

  def add(function):
    if function.__doc__:  # Not so with `python -OO`.
      own = text.format(name=function.__name__, **words)
      # From Python 3.13 on, only the text is still indented.
      parts = inspect.cleandoc(function.__doc__), inspect.cleandoc(own)
      function.__doc__ = "\n\n".join(parts)
    return function

  return add


def are_bools(*flags: Any) -> bool:
  """Returns whether flags are True or False: others are the namesake's to judge.

  It has them as static arguments, and most are part of its programs.
  """
  return all(isinstance(flag, bool) for flag in flags)


def along_axis(op: Op, a: Any, axis: Any) -> tuple[jax.Array, int] | None:
  """Returns an array and an axis of it that an op can be called with.

  Args:
    op: an op with the signature "(n,*)->...".
    a: the array, as the user gave it.
    axis: the axis, as the user gave it; None stands for the only axis of the
      flattened array.

  Returns:
    None if the op does not take these. Call its namesake then, which may raise
    an error.
  """
  return array_and_axis(a, axis, op.declaration.dtypes[0])


def is_split(x: jax.Array) -> bool:
  """Returns whether explicit mesh axes split an array."""
  return any(jax.typeof(x).sharding.spec)


def array_and_axis(
    a: Any, axis: Any, allowed: Collection[np.dtype]
) -> tuple[jax.Array, int] | None:
  """Does what along_axis does, for dtypes that are given."""
  if not isinstance(a, ARRAYS) or not dtypes.is_allowed(a.dtype, allowed):
    return None
  x = jnp.asarray(a)
  if axis is None:
    return x.ravel(), 0
  if not isinstance(axis, numbers.Integral):
    return None
  axis = operator.index(axis)
  return (x, axis % x.ndim) if -x.ndim <= axis < x.ndim else None


def axes_of(
    a: Any, axis: Any, allowed: Collection[np.dtype]
) -> tuple[int, ...]:
  """Returns axes of an array, counted from the first one.

  Args:
    a: the array, as the user gave it.
    axis: an axis, a tuple of axes, or None for all, as the user gave it.
    allowed: dtypes of arrays that are taken.

  Returns:
    None of them if the call is left to the namesake.
  """
  if not isinstance(a, ARRAYS) or not dtypes.is_allowed(a.dtype, allowed):
    return ()
  axes = tuple(range(a.ndim)) if axis is None else axis
  axes = axes if isinstance(axes, tuple) else (axes,)
  if not all(
      isinstance(i, numbers.Integral) and -a.ndim <= i < a.ndim for i in axes
  ):
    return ()
  axes = tuple(operator.index(i) % a.ndim for i in axes)
  return axes if len(set(axes)) == len(axes) else ()
