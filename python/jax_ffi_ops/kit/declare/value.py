# SPDX-License-Identifier: Apache-2.0
"""The value of an attribute, as jax's caches and programs are to see it."""

from collections.abc import Mapping
import hashlib
from typing import Any

import numpy as np

from jax_ffi_ops.kit import _jax

# Longer arrays are printed as a digest.
_SHOWN = 8


class Value:
  """An attribute's value, equal only to one of the same type and bits.

  Attributes:
    value: a string, a NumPy scalar or array, or a dictionary of Values.
  """

  __slots__ = ("value", "_key")

  def __init__(
      self, value: "str | np.generic | np.ndarray | Mapping[str, Value]"
  ):
    self.value = value
    if isinstance(value, str):
      key = value
    elif isinstance(value, Mapping):
      key = tuple(sorted((name, x._key) for name, x in value.items()))
    else:
      key = (value.dtype.str, value.tobytes())
    self._key = (type(value).__name__, key)

  def __eq__(self, other):
    return isinstance(other, Value) and self._key == other._key

  def __hash__(self):
    return hash(self._key)

  def __repr__(self):
    """Returns all of the value: caches of programs tell calls apart by it."""
    if not isinstance(self.value, np.ndarray):
      return repr(self.plain)
    if self.value.size <= _SHOWN:
      return repr(self.value.tolist())
    digest = hashlib.sha256(self.value.tobytes()).hexdigest()
    return f"{self.value.dtype}[{self.value.size}]:{digest}"

  @property
  def plain(self) -> Any:
    """The value without NumPy's scalars: they would widen what they meet."""
    if isinstance(self.value, Mapping):
      return {name: x.plain for name, x in self.value.items()}
    if isinstance(self.value, np.generic):
      return self.value.item()
    return self.value


# jax.ffi.ffi_call is given Values, no plain ones: its caches would take 0.0 for
# -0.0.
_jax.lower_attributes_of(Value, lambda attribute: attribute.value)
