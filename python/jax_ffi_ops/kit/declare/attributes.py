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
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.declare.value import Value

_KINDS = {"b": bool | np.bool_, "i": numbers.Integral, "u": numbers.Integral,
          "f": numbers.Real}  # fmt: skip
_NAMES = {"b": "a bool", "i": "an integer", "u": "an integer", "f": "a number"}


@dataclasses.dataclass(frozen=True)
class Attribute:
  """The type of an attribute.

  Attributes:
    type: `str`, `bool`, or a NumPy scalar type of a boolean, integer, float32
      or float64; `[type]` for a flat array of integers or floating point
      numbers; a mapping of names to types (`kit.call` only). A C++ handler
      binds `np.float32` as `float`, `[np.int64]` as `ffi::Span<const int64_t>`,
      a mapping as `ffi::Dictionary`.
    minimum: for numbers, the least value.
    below: for numbers, a bound that the value must be less than.
    example: a value with which the kit checks the declaration. By default it is
      the minimum, or else the lesser of 1 and `below` - 1; True; or "".
    optional: whether a call may omit it (`kit.call` only). The handler asks for
      it by `ffi::Dictionary::contains`.
  """

  type: Any
  minimum: float | None = None
  below: float | None = None
  example: Any = None
  optional: bool = False

  def __post_init__(self):
    limits = self.minimum, self.below
    if None not in limits and not self.minimum < self.below:
      raise ValueError(
          f"No attribute is at least {self.minimum} and below {self.below}."
      )
    if self.is_dictionary:
      object.__setattr__(self, "type", schema("a dictionary", self.type))
      return
    scalar = self.type[0] if self._is_array else self.type
    if scalar is str and not self._is_array:
      return
    try:
      dtype = np.dtype(scalar)
    except TypeError:
      dtype = np.dtype(object)
    kinds = "iuf" if self._is_array else "biuf"
    sizes = (4, 8) if dtype.kind == "f" else (1, 2, 4, 8)
    if scalar is None or dtype.kind not in kinds or dtype.itemsize not in sizes:
      raise TypeError(
          "An attribute must be a str, a bool, an integer, a float32, a"
          " float64, an array ([type]) of numbers, or a mapping of these, got"
          f" {self.type!r}."
      )

  @property
  def _is_array(self):
    return isinstance(self.type, list) and len(self.type) == 1

  @property
  def is_dictionary(self) -> bool:
    """Whether it has attributes of its own."""
    return isinstance(self.type, Mapping)

  @property
  def is_dimension(self) -> bool:
    """Whether it may be the size of a result's dimension."""
    return self.type is np.int64

  def as_dimension(self) -> "Attribute":
    """Returns the attribute of a result's dimension: it is at least 0."""
    least = max(self.minimum or 0, 0)
    example = self.example
    if example is None:
      example = max(least, 1) if self.below is None else least
    return dataclasses.replace(self, minimum=least, example=example)

  def allows(self, value: Any) -> bool:
    """Returns whether numbers are in the range of the attribute."""
    least, below = self.minimum, self.below
    return bool(
        (least is None or np.all(value >= least))
        and (below is None or np.all(value < below))
    )

  def example_value(self, op: str, name: str) -> "Value":
    """Returns the example in the declared type."""
    if self.example is not None:
      return self.convert(op, name, self.example)
    if self.type is str:
      return Value("")
    value = self.minimum
    if value is None:
      value = True if self.below is None else min(1, self.below - 1)
    scalar = self.type[0] if self._is_array else self.type
    value = np.dtype(scalar).type(value)
    return self.convert(op, name, [value] if self._is_array else value)

  def convert(self, op: str, name: str, value: Any) -> "Value":
    """Returns `value` in the declared type.

    Raises:
      TypeError: it is of another kind, or a traced value.
      ValueError: the type cannot hold it, or it is beyond a limit.
    """
    if isinstance(value, jax.core.Tracer):
      raise TypeError(
          f"{op}: {name} must be known when the function is traced, got"
          f" {value}."
      )
    if self.is_dictionary:
      if not isinstance(value, Mapping):
        raise TypeError(f"{op}: {name} must be a mapping, got {value!r}.")
      return Value(convert(f"{op}: {name}", self.type, value))
    if self._is_array:
      if not isinstance(value, (Sequence, np.ndarray)) or (
          isinstance(value, (str, bytes)) or getattr(value, "ndim", 1) != 1
      ):
        raise TypeError(
            f"{op}: {name} must be a flat sequence or NumPy array, got"
            f" {value!r}."
        )
      values = [
          self._convert(op, f"{name}[{i}]", v, self.type[0])
          for i, v in enumerate(value)
      ]
      return Value(np.array(values, self.type[0]))
    return Value(self._convert(op, name, value, self.type))

  def _convert(self, op, name, value, scalar):
    if scalar is str:
      if not isinstance(value, str):
        raise TypeError(f"{op}: {name} must be a str, got {value!r}.")
      return value
    dtype = np.dtype(scalar)
    if isinstance(value, np.generic) and jnp.issubdtype(value, np.floating):
      value = np.float64(value) if value.itemsize < 8 else value  # bfloat16
    is_bool = isinstance(value, (bool, np.bool_))
    if not isinstance(value, _KINDS[dtype.kind]) or (
        is_bool and dtype.kind != "b"
    ):
      raise TypeError(
          f"{op}: {name} must be {_NAMES[dtype.kind]}, got {value!r}."
      )
    is_integer = isinstance(value, numbers.Integral) and not is_bool
    if is_integer:
      value = int(value)  # NumPy's integers would wrap without a word.
    if self.minimum is not None and not value >= self.minimum:
      raise ValueError(
          f"{op}: {name} must be at least {self.minimum}, got {value}."
      )
    try:
      with np.errstate(over="raise"):
        converted = dtype.type(value)
      # numpy.longdouble becomes an infinity without a word, and an integer
      # another one.
      if dtype.kind == "f" and (
          (np.isinf(converted) and abs(value) != np.inf)
          or (is_integer and int(converted) != value)
      ):
        raise OverflowError
    except (OverflowError, FloatingPointError) as error:
      raise ValueError(
          f"{op}: {name} must fit into {dtype.name}, got {value}."
      ) from error
    # Rounding may have made it as large as the limit.
    if self.below is not None and not converted < self.below:
      raise ValueError(
          f"{op}: {name} must be below {self.below}, got {converted}."
      )
    return converted


def schema(op: str, declared: Mapping[str, Any] | None) -> dict[str, Attribute]:
  """Returns the attributes of a declaration, in which types may stand alone."""
  attributes = {}
  for name, kind in (declared or {}).items():
    if not isinstance(name, str) or not name:
      raise TypeError(
          f"{op}: the name of an attribute must be a str that is not empty, got"
          f" {name!r}."
      )
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
  """Returns the values of all attributes of an op, in the schema's order.

  None is no value: an optional attribute that is None is left out.
  """
  optional = {name for name, attribute in schema.items() if attribute.optional}
  values = {
      name: value
      for name, value in values.items()
      if value is not None or name not in optional
  }
  if not schema.keys() - optional <= values.keys() <= schema.keys():
    raise TypeError(
        f"{op}: expected the attributes {sorted(schema)}, got"
        f" {sorted(values, key=str)}."
    )
  return {
      name: attribute.convert(op, name, values[name])
      for name, attribute in schema.items()
      if name in values
  }
