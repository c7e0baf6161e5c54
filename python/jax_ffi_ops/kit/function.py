# SPDX-License-Identifier: Apache-2.0
"""The function that an author gets of a declaration."""

from collections.abc import Callable
import functools
import numbers
import operator
import sys
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import attributes as attribute_types
from jax_ffi_ops.kit import dimensions
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.forward_primitive import ForwardPrimitive

_ARRAYS = (jax.Array, np.ndarray, np.generic)
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Op:
  """A declared op; call it like a function of jax.numpy."""

  def __init__(self, declaration: Declaration, module: str):
    self.declaration = declaration
    self.__module__ = module
    self._forward = ForwardPrimitive(declaration)

  def __reduce__(self) -> str:
    """Has the op copied and pickled as a function: by its name in its module."""
    module = getattr(sys.modules.get(self.__module__), "__dict__", {})
    names = (name for name, value in module.items() if value is self)
    return next(names, self.declaration.name)

  def __repr__(self) -> str:
    return f"<op {self.declaration.name}: {self.declaration.signature}>"

  @property
  def primitive(self) -> Any:
    """The primitive of its calls in a jaxpr."""
    return self._forward.primitive

  @property
  def targets(self) -> tuple[str, ...]:
    """The FFI targets, to be allowed when an exported program is checked."""
    op = self.declaration
    backward = (op.backward_target,) if op.backward_platforms else ()
    return (op.forward_target, *backward)

  @property
  def library(self) -> str:
    """The path of the shared object that has the handlers of these targets."""
    return self.declaration.library.path

  def __call__(self, *operands: Any, **attributes: Any) -> Any:
    op = self.declaration
    axis = attributes.pop("axis", -1) if op.signature.starred else None
    arrays, params = self._arrays(operands, axis)
    values = attribute_types.convert(op.name, op.attributes, attributes)

    results = self._forward(*arrays, **values, **params)
    results = results[: len(op.outputs)]
    return results[0] if len(results) == 1 else tuple(results)

  def _arrays(self, operands, axis):
    """Returns the operands that are present, and parameters of the call."""
    op, present = self._present(operands)
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
    params = {}
    if self.declaration.signature.optional:
      params["present"] = present
    trailing = 0
    if self.declaration.signature.starred:
      trailing = dimensions.trailing_rank(
          op.name, op.signature, op.operands, shapes, _axis(op.name, axis)
      )
      params["trailing_rank"] = trailing
    dimensions.check(
        op.name, op.signature, op.operands, shapes, op.parameters, trailing
    )
    named = dict(zip(op.operands, arrays))
    for name, other in op.same_dtype.items():
      if name in named and named[name].dtype != named[other].dtype:
        raise TypeError(
            f"{op.name}: {name} must have the dtype {named[other].dtype} of"
            f" {other}, got {named[name].dtype}."
        )
    if op.weights:
      with dtypes.keeping_64_bits(arrays):
        arrays = list(dtypes.convert_weights(op.weights, named).values())
    return arrays, params

  def _present(self, operands):
    """Returns the declaration of the given operands, and their bits."""
    op = self.declaration
    optional = op.signature.optional
    missing = range(len(operands), len(op.operands))
    if len(operands) > len(op.operands) or not optional.issuperset(missing):
      names = (n + "=None" * (i in optional) for i, n in enumerate(op.operands))
      raise TypeError(
          f"{op.name} takes {len(op.operands)} operands ({', '.join(names)}),"
          f" got {len(operands)}."
      )
    present = 0
    for i, x in enumerate(operands):
      if x is None and i not in optional:
        raise TypeError(
            f"{op.name}: {op.operands[i]} must be an array, got None."
        )
      present |= (x is not None) << i
    return op.given(present), present


def _array(what, x, core, allowed):
  """Returns an operand as an array of an allowed dtype."""
  # A Python number is an array where only a scalar is asked for.
  if not isinstance(x, _ARRAYS if core else (*_ARRAYS, numbers.Number)):
    raise TypeError(f"{what} must be an array, got {x!r}.")
  dtype = x.dtype if isinstance(x, _ARRAYS) else jnp.result_type(x)
  dtypes.check(what, dtype, allowed)
  x = jnp.asarray(x)
  # Without x64 this made 32 bits of NumPy's 64, and left those of jax.
  dtypes.check(what, x.dtype, allowed)
  if allowed is None or x.dtype in allowed:
    return x
  return x.astype(jax.dtypes.canonicalize_dtype(x.dtype))


def _axis(op, axis):
  if isinstance(axis, bool) or not isinstance(axis, numbers.Integral):
    raise TypeError(f"{op}: axis must be an integer, got {axis!r}.")
  return operator.index(axis)


def public(*ops: Op) -> Callable[[_Function], _Function]:
  """Says of a function that users call which ops it is made of.

    @kit.public(_rms_norm)
    def rms_norm(x, scale=None, *, eps=1e-6):
      return _rms_norm(x, scale, eps=eps)

  What takes an op, such as `kit.export_checks`, then takes the function too.
  """

  def mark(function):
    function.ops = ops
    return function

  return mark


def ops_of(function: Any) -> tuple[Op, ...]:
  """Returns the ops that a function is made of.

  Raises:
    TypeError: `kit.public` did not say so of the function, or of one that it
      wraps (as what jax.jit returns does).
  """
  found = function
  while found is not None:
    if isinstance(found, Op):
      return (found,)
    if isinstance(getattr(found, "ops", None), tuple):
      return found.ops
    found = found.func if isinstance(found, functools.partial) else getattr(
        found, "__wrapped__", None
    )  # fmt: skip
  raise TypeError(f"{function!r} is no op, and no function of `kit.public`.")
