# SPDX-License-Identifier: Apache-2.0
"""The rules of primitives, by name.

A rule takes a Body, an Equation and the operands as values. It writes C++ and
returns the results as values: one, or a list of them.
"""

from collections.abc import Callable
import functools
from typing import Any

from jax_ffi_ops.kit.emit import errors

# Their own equations say more of what is written than they do.
LOOPS = {"scan", "while", "cond"}
# They have no operands that say which result is meant, or give keys.
NEVER_FOLDED = {
    "dim_as_value",
    "dimension_as_value",
    "platform_index",
    "random_bits",
    "random_fold_in",
    "random_split",
    "random_unwrap",
    "random_wrap",
}

# They know arrays of keys, which have a dimension more in memory.
OF_KEYS = {
    *LOOPS,
    "broadcast_in_dim",
    "concatenate",
    "copy",
    "dynamic_slice",
    "expand_dims",
    "optimization_barrier",
    "random_bits",
    "random_fold_in",
    "random_split",
    "random_unwrap",
    "random_wrap",
    "reshape",
    "slice",
    "squeeze",
    "unstack",
}

_rules: dict[str, Callable[..., Any]] = {}


def rule(*names: str) -> Callable[[Any], Any]:
  """Registers a function as the rule of primitives."""

  def register(function):
    _rules.update(dict.fromkeys(names, function))
    return function

  return register


def find(name: str) -> Callable[..., Any]:
  return _rules.get(name, _by_implementation)


def _by_implementation(body, equation, *args):
  """Writes a primitive of another library as it is computed by jax.numpy."""
  primitive = equation.equation.primitive
  function = functools.partial(primitive.impl, **equation.params)
  try:
    closed = body.traced(function, *args)
  except Exception as error:  # pylint: disable=broad-except
    # It may need values, and raise whatever its authors chose.
    raise errors.Unsupported("there is no rule for this primitive") from error
  # The implementation of jax's own primitives is the primitive.
  if primitive.name in str(closed):
    raise errors.Unsupported("there is no rule for this primitive")
  return body.run(closed, args)


def known() -> list[str]:
  """Returns the names of all primitives that have a rule."""
  return sorted(_rules)
