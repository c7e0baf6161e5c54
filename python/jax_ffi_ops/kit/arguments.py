# SPDX-License-Identifier: Apache-2.0
"""Checks what a user gave a function that calls ops."""

from collections.abc import Sequence
import numbers
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def counted(number: int, noun: str) -> str:
  """Returns "1 array" or "2 arrays", for a message."""
  return f"{number} {noun}{'s' * (number != 1)}"


def check_bool(function: str, name: str, value: Any) -> None:
  """Raises TypeError unless an argument is a bool."""
  if not isinstance(value, bool | np.bool_):
    raise TypeError(f"{function}: {name} must be True or False, got {value!r}.")


def array(function: str, name: str, value: Any) -> jax.Array:
  """Returns an operand as an array.

  Raises:
    TypeError: it is none.
    ValueError: it is a masked array, which jax refuses.
  """
  try:
    return jnp.asarray(value)
  except (TypeError, ValueError) as error:
    if isinstance(value, np.ma.MaskedArray):
      raise ValueError(f"{function}: {name}: {error}") from error
    raise TypeError(
        f"{function}: {name} must be an array, got {value!r}."
    ) from error


def numeric(function: str, name: str, value: Any) -> jax.Array:
  """Returns an operand as an array of numbers.

  Raises:
    TypeError: it is none.
    ValueError: it is a masked array.
  """
  x = array(function, name, value)
  if not jnp.issubdtype(x.dtype, np.number):
    raise TypeError(f"{function}: {name} must be numbers, got {x.dtype}.")
  return x


def floating(function: str, name: str, value: Any) -> np.dtype:
  """Returns the dtype of an operand of floating-point numbers.

  Raises:
    TypeError: it has another one.
    ValueError: it is a masked array.
  """
  dtype = array(function, name, value).dtype
  if not jnp.issubdtype(dtype, jnp.floating):
    raise TypeError(f"{function}: {name} must be floating-point, got {dtype}.")
  return dtype


def integer_axis(function: str, axis: Any) -> int:
  """Returns the axis as an int.

  Raises:
    TypeError: it is no integer.
  """
  if isinstance(axis, bool) or not isinstance(axis, numbers.Integral):
    raise TypeError(f"{function}: axis must be an integer, got {axis!r}.")
  return operator.index(axis)


def axis_of(
    function: str, operand: str, shape: Sequence[int], axis: Any
) -> int:
  """Returns the axis of an operand, counted from the first one.

  Raises:
    TypeError: it is no integer.
    ValueError: there is no such axis.
  """
  axis = integer_axis(function, axis)
  if not -len(shape) <= axis < len(shape):
    raise ValueError(
        f"{function}: {operand} of shape {shape} has no axis {axis}."
    )
  return axis % len(shape)


def padded_shape(message: str, a: Any, shape: Sequence[int]) -> tuple[int, ...]:
  """Returns the shape of a, with as many axes as that which a broadcasts to.

  Args:
    message: begins the one of an error: function and operand.
    a: the array.
    shape: what it has to broadcast to.

  Raises:
    ValueError: it does not.
  """
  own = (1,) * (len(shape) - np.ndim(a)) + np.shape(a)
  if len(own) != len(shape) or any(
      size not in (1, full) for size, full in zip(own, shape)
  ):
    raise ValueError(
        f"{message} must broadcast to the shape {shape}, got {np.shape(a)}."
    )
  return own


def check_start(
    message: str, start: Any, shape: Sequence[int], axis: int
) -> None:
  """Raises ValueError if what is before the first step does not fit the steps."""
  shape = (*shape[:axis], *shape[axis + 1 :])
  if start is not None and np.shape(start) not in ((), shape):
    shapes = f"{shape} or ()" if shape else "()"
    raise ValueError(
        f"{message} must have the shape {shapes}, got {np.shape(start)}."
    )


def real(function: str, dtype: Any, **operands: Any) -> list[jax.Array]:
  """Returns operands as arrays of a real dtype.

  Raises:
    TypeError: one is complex, or None.
  """
  arrays = []
  for name, x in operands.items():
    x = x if x is None else array(function, name, x)
    if x is None or jnp.iscomplexobj(x):
      got = getattr(x, "dtype", x)
      raise TypeError(f"{function}: {name} must be real numbers, got {got}.")
    arrays.append(x.astype(dtype))
  return arrays
