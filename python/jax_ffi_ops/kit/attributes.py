# SPDX-License-Identifier: Apache-2.0
"""Attributes of FFI handlers, converted to exact types.

JAX's caches compare parameters by value, and in Python 1 == True ==
np.float32(1): with plain values, a call with one of them could reuse the
program that was lowered for another (jax-ml/jax#9273).
"""

from collections.abc import Mapping, Sequence
import dataclasses
import numbers
from typing import Any

import jax
import numpy as np

_KINDS = {"b": bool | np.bool_, "i": numbers.Integral, "u": numbers.Integral,
          "f": numbers.Real}  # fmt: skip
_NAMES = {"b": "a bool", "i": "an integer", "u": "an integer", "f": "a number"}


@dataclasses.dataclass(frozen=True)
class Attribute:
  """The type of an attribute.

  Attributes:
    type: `str`, `bool`, or a NumPy scalar type of a boolean, integer, float32
      or float64; `[type]` for a flat array of a NumPy type. A C++ handler binds
      `np.float32` as `float`, `[np.int64]` as `ffi::Span<const int64_t>`.
    minimum: the least value allowed, for numbers.
    example: a value that the declaration is checked with; by default the
      minimum, or 1, True or "".
  """

  type: Any
  minimum: float | None = None
  example: Any = None

  def __post_init__(self):
    scalar = self.type[0] if self._is_array else self.type
    if scalar is str and not self._is_array:
      return
    try:
      dtype = np.dtype(scalar)
    except TypeError:
      dtype = np.dtype(object)
    if scalar is None or dtype.kind not in "biuf" or dtype == np.float16:
      raise TypeError(
          "An attribute must be a str, a bool, an integer, a float32, a float64"
          f" or an array ([type]) of these, got {self.type!r}."
      )

  @property
  def _is_array(self):
    return isinstance(self.type, list) and len(self.type) == 1

  @property
  def is_dimension(self) -> bool:
    """Whether it may be the size of a result's dimension."""
    return self.type is np.int64

  def example_value(self, op: str, name: str) -> "Value":
    """Returns the example in the declared type."""
    if self.example is not None:
      return self.convert(op, name, self.example)
    if self.type is str:
      return Value("")
    least = self.minimum if self.minimum is not None else True
    scalar = self.type[0] if self._is_array else self.type
    least = np.dtype(scalar).type(least)
    return self.convert(op, name, [least] if self._is_array else least)

  def convert(self, op: str, name: str, value: Any) -> "Value":
    """Returns `value` in the declared type.

    Raises:
      TypeError: it is of another kind, or a traced value.
      ValueError: the type cannot hold it, or it is below the minimum.
    """
    if isinstance(value, jax.core.Tracer):
      raise TypeError(
          f"{op}: {name} must be known when the function is traced, got"
          f" {value}."
      )
    if self._is_array:
      if not isinstance(value, (Sequence, np.ndarray)) or np.ndim(value) == 0:
        raise TypeError(f"{op}: {name} must be a sequence, got {value!r}.")
      values = [self._convert(op, name, v, self.type[0]) for v in value]
      return Value(np.array(values, self.type[0]))
    return Value(self._convert(op, name, value, self.type))

  def _convert(self, op, name, value, scalar):
    if scalar is str:
      if not isinstance(value, str):
        raise TypeError(f"{op}: {name} must be a str, got {value!r}.")
      return value
    dtype = np.dtype(scalar)
    is_bool = isinstance(value, (bool, np.bool_))
    if not isinstance(value, _KINDS[dtype.kind]) or (
        is_bool and dtype.kind != "b"
    ):
      raise TypeError(
          f"{op}: {name} must be {_NAMES[dtype.kind]}, got {value!r}."
      )
    if self.minimum is not None and not value >= self.minimum:
      raise ValueError(
          f"{op}: {name} must be at least {self.minimum}, got {value}."
      )
    try:
      with np.errstate(over="raise"):
        converted = dtype.type(value)
      # numpy.longdouble becomes an infinity without a word.
      if dtype.kind == "f" and np.isinf(converted) and abs(value) != np.inf:
        raise OverflowError
      return converted
    except (OverflowError, FloatingPointError) as error:
      raise ValueError(
          f"{op}: {name} must fit into {dtype.name}, got {value}."
      ) from error


class Value:
  """An attribute's value, equal only to one of the same type and bits."""

  __slots__ = ("value", "_key")

  def __init__(self, value: str | np.generic | np.ndarray):
    self.value = value
    key = (
        value if isinstance(value, str) else (value.dtype.str, value.tobytes())
    )
    self._key = (type(value), key)

  def __eq__(self, other):
    return isinstance(other, Value) and self._key == other._key

  def __hash__(self):
    return hash(self._key)

  def __repr__(self):
    value = self.value
    return repr(value if isinstance(value, str) else value.tolist())


def schema(op: str, declared: Mapping[str, Any] | None) -> dict[str, Attribute]:
  """Returns the attributes of a declaration, in which types may stand alone."""
  attributes = {}
  for name, kind in (declared or {}).items():
    try:
      attributes[name] = (
          kind if isinstance(kind, Attribute) else Attribute(kind)
      )
    except TypeError as error:
      raise TypeError(f"{op}: {name}: {error}") from error
  return attributes


def convert(
    op: str, schema: Mapping[str, Attribute], values: Mapping[str, Any]
) -> dict[str, Value]:
  """Returns the values of all attributes of an op, in the schema's order."""
  if schema.keys() != values.keys():
    raise TypeError(
        f"{op}: expected the attributes {sorted(schema)}, got {sorted(values)}."
    )
  return {
      name: attribute.convert(op, name, values[name])
      for name, attribute in schema.items()
  }
