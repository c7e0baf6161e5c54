# SPDX-License-Identifier: Apache-2.0
"""The function that an author gets of a declaration."""

from collections.abc import Callable
import functools
import sys
from typing import Any, TypeVar

from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.operands import call_of
from jax_ffi_ops.kit.primitives.forward import ForwardPrimitive

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
    own = self.declaration
    return tuple(map(own.library.exported, own.targets))

  @property
  def library(self) -> str:
    """The path of the shared object that has the handlers of these targets."""
    return self.declaration.library.path

  def __call__(self, *operands: Any, **keywords: Any) -> Any:
    arrays, call = call_of(self.declaration, operands, keywords)
    results = self._forward(*arrays, call=call)
    results = results[: len(self.declaration.outputs)]
    return results[0] if len(results) == 1 else tuple(results)


def public(*ops: Op, serves: str = "") -> Callable[[_Function], _Function]:
  """Says of a function that users call which ops it is made of.

    @kit.public(_rms_norm)
    def rms_norm(x, scale=None, *, eps=1e-6):
      return _rms_norm(x, scale, eps=eps)

  What takes an op, such as `kit.export_checks`, then takes the function too.

  Args:
    *ops: see above.
    serves: the calls that have handlers, in words. `kit.explain` says them where
      the function calls no op.
  """

  def mark(function):
    function.ops = ops
    function.serves = serves
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
