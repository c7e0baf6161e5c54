# SPDX-License-Identifier: Apache-2.0
"""Python functions of an author: of arrays by name, and of attributes.

The reference is one, and so are the rules for derivatives. They are written for
cores; the kit maps them over loops.
"""

from collections.abc import Callable, Collection, Mapping
import dataclasses
import inspect
from typing import Any

import jax

from jax_ffi_ops.kit import arguments

_NAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


@dataclasses.dataclass(frozen=True, eq=False)
class AuthorFunction:
  """A function and the names of its arrays.

  Attributes:
    function: called with arrays by position, and with all attributes.
    names: of the arrays.
  """

  function: Callable[..., Any]
  names: tuple[str, ...]

  @classmethod
  def of(
      cls, op: str, kind: str, function: Callable[..., Any] | None,
      known: Collection[str],
  ) -> "AuthorFunction | None":  # fmt: skip
    """Wraps a function that may have parameters named `known`."""
    if function is None:
      return None
    names = positional(function)
    unknown = [name for name in names if name not in known]
    if unknown:
      raise ValueError(
          f"{op}: {kind} has parameters named {unknown}; there are"
          f" {list(known)}, and attributes are keywords."
      )
    return cls(function, names)

  def __call__(
      self, arrays: Mapping[str, Any], attributes: Mapping[str, Any]
  ) -> tuple[Any, ...]:
    """Calls the function; arrays that are not there are None."""
    # Like a function of JAX, whatever the caller allows in his own code.
    with (
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
      results = self.function(*map(arrays.get, self.names), **attributes)
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def check_call(
    op: str,
    kind: str,
    function: Callable[..., Any],
    operands: Collection[Any],
    attributes: Collection[str],
) -> None:
  """Raises TypeError unless a function can be called with these."""
  try:
    inspect.signature(function).bind(*operands, **dict.fromkeys(attributes))
  except TypeError as error:
    raise TypeError(
        f"{op}: `{kind}` is called with"
        f" {arguments.counted(len(operands), 'array')} and the keywords"
        f" {list(attributes)}: {error}"
    ) from error


def keywords(function: Callable[..., Any]) -> frozenset[str]:
  """Returns the names of a function's parameters that are only keywords."""
  return frozenset(
      parameter.name
      for parameter in inspect.signature(function).parameters.values()
      if parameter.kind is parameter.KEYWORD_ONLY
  )


def positional(function: Callable[..., Any]) -> tuple[str, ...]:
  """Returns the names of a function's positional parameters."""
  return tuple(
      parameter.name
      for parameter in inspect.signature(function).parameters.values()
      if parameter.kind in _NAMED
  )
