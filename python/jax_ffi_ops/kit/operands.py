# SPDX-License-Identifier: Apache-2.0
"""From what a user passes to an op to the arrays and the call."""

from collections.abc import Mapping, Sequence
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.kit.calls import dimensions
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare import attributes as attribute_types
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.declare.value import Value

ARRAYS = (jax.Array, np.ndarray, np.generic)


def call_of(
    declared: Declaration, operands: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[jax.Array], ForwardCall]:
  """Returns the operands that are present, as arrays, and the call.

  Raises:
    TypeError: an operand or an attribute has another type than declared.
    ValueError: shapes do not fit the signature or each other, or an attribute
      has a value that its type does not allow.
  """
  keywords = dict(keywords)
  axis = keywords.pop("axis", -1) if declared.signature.starred else None
  has_in_place = bool(declared.buffers.in_place)
  in_place = keywords.pop("in_place", False) if has_in_place else False
  arguments.check_bool(declared.name, "in_place", in_place)
  present = _present(declared, operands)
  op = declared.given(present)
  arrays = [
      _array(f"{op.name}: {name}", x, core, allowed)
      for name, x, core, allowed in zip(
          op.operands,
          (x for x in operands if x is not None),
          op.signature.operands,
          op.dtypes,
      )
  ]
  shapes = [x.shape for x in arrays]
  trailing = None
  if op.signature.starred:
    trailing = dimensions.trailing_rank(
        op.name,
        op.signature,
        op.operands,
        shapes,
        arguments.integer_axis(op.name, axis),
    )
  dimensions.check(
      op.name, op.signature, op.operands, shapes, op.parameters, trailing or 0,
      op.stretched,
  )  # fmt: skip
  arrays = _in_common_dtypes(op, arrays)
  attributes = attribute_types.convert(op.name, op.attributes, keywords)
  call = ForwardCall(
      declared, Value(attributes), present, trailing, in_place=in_place
  )
  return arrays, call


def _present(op, operands):
  """Returns a bit per operand that is given; None if all have to be."""
  optional = op.signature.optional
  missing = range(len(operands), len(op.operands))
  if len(operands) > len(op.operands) or not optional.issuperset(missing):
    names = (n + "=None" * (i in optional) for i, n in enumerate(op.operands))
    raise TypeError(
        f"{op.name} takes"
        f" {arguments.counted(len(op.operands), 'operand')}"
        f" ({', '.join(names)}), got {len(operands)}."
    )
  present = 0
  for i, x in enumerate(operands):
    if x is None and i not in optional:
      raise TypeError(
          f"{op.name}: {op.operands[i]} must be an array, got None."
      )
    present |= (x is not None) << i
  return present if optional else None


def _array(what, x, core, allowed):
  """Returns an operand as an array of an allowed dtype."""
  # A Python number is an array where only a scalar is asked for.
  if not isinstance(x, ARRAYS if core else (*ARRAYS, numbers.Number)):
    raise TypeError(f"{what} must be an array, got {x!r}.")
  dtype = x.dtype if isinstance(x, ARRAYS) else jnp.result_type(x)
  dtypes.check(what, dtype, allowed)
  x = jnp.asarray(x)
  # Without x64, jnp.asarray narrows NumPy's arrays to 32 bits, but not jax's.
  dtypes.check(what, x.dtype, allowed)
  if allowed is None or x.dtype in allowed:
    return x
  return x.astype(jax.dtypes.canonicalize_dtype(x.dtype))


def _in_common_dtypes(op, arrays):
  """Checks operands of the same dtype, and converts weights."""
  named = dict(zip(op.operands, arrays))
  for name, other in op.same_dtype.items():
    if name in named and named[name].dtype != named[other].dtype:
      raise TypeError(
          f"{op.name}: {name} must have the dtype {named[other].dtype} of"
          f" {other}, got {named[name].dtype}."
      )
  if not op.weights:
    return arrays
  with dtypes.keeping_64_bits(arrays):
    return list(dtypes.convert_weights(op.weights, named).values())
