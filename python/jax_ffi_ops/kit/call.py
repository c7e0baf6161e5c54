# SPDX-License-Identifier: Apache-2.0
"""Calls of handlers that are no generalized ufuncs."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from jax_ffi_ops.kit import attributes as attribute_types
from jax_ffi_ops.kit.library import Library


def call(
    target: str,
    *,
    library: Library,
    results: Callable[..., Any],
    attributes: Mapping[str, Any] | None = None,
    has_side_effect: bool = False,
    input_output_aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
  """Wraps one FFI target: for whole-array, in-place or effectful handlers.

  What jax.ffi.ffi_call does, with a checked library and typed attributes. It
  has no derivatives and no batching, and where operands are split over devices
  they are gathered; use `kit.op` for whatever is a generalized ufunc.

  Args:
    target: name of the handler, in full.
    library: the shared object with the handler.
    results: function of the operands and attributes that returns a
      jax.ShapeDtypeStruct, or a tuple of them.
    attributes: name to type: a NumPy scalar type, or an Attribute.
    has_side_effect: whether calls must not be dropped or merged.
    input_output_aliases: operand index to the index of the result that takes
      its memory.

  Returns:
    A function of the operands (arrays) and attributes (keywords).

  Raises:
    TypeError: an attribute has no type that FFI knows.
    ImportError: the library lacks the handler, or this jaxlib does not accept
      it.
  """
  library.register(target)
  schema = attribute_types.schema(attributes)

  def function(*operands, **values):
    converted = {
        name: _EXACT.get(type(value.value), lambda v: v)(value.value)
        for name, value in attribute_types.convert(
            target, schema, values
        ).items()
    }
    library.ensure_registered(target)
    return jax.ffi.ffi_call(
        target,
        results(*operands, **converted),
        has_side_effect=has_side_effect,
        input_output_aliases=dict(input_output_aliases or {}),
    )(*operands, **converted)

  function.__name__ = target
  return function


class _Exact:
  """Tells -0.0 from 0.0, which jax's caches would not."""

  def __eq__(self, other):
    return type(self) is type(other) and self.tobytes() == other.tobytes()

  def __hash__(self):
    return hash(self.tobytes())


class _Float32(_Exact, np.float32):
  pass


class _Float64(_Exact, np.float64):
  pass


_EXACT = {np.float32: _Float32, np.float64: _Float64}
