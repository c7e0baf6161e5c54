# SPDX-License-Identifier: Apache-2.0
"""The rules of primitives, by name.

A rule takes a Body, an Equation and the operands as values. It writes C++ and
returns the results as values: one, or a list of them.
"""

from collections.abc import Callable
import functools
from typing import Any, NamedTuple

from jax.extend import core as jex_core

from jax_ffi_ops.kit.equations import equations
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import jaxprs


class Rule(NamedTuple):
  """How a primitive is written.

  Attributes:
    write: the function.
    of_patches: whether it adds or passes on a Patch, and needs no array.
    of_keys: whether it knows arrays of keys, which have a dimension more in
      memory.
    folds: whether JAX computes results of constants when it is written. What
      has other equations inside does not.
  """

  write: Callable[..., Any]
  of_patches: bool = False
  of_keys: bool = False
  folds: bool = True


_rules: dict[str, Rule] = {}


def no_rule() -> str:
  return (
      "there is no rule for this primitive: compute it outside of the op, or by"
      " other primitives"
  )


# Primitives that call a jaxpr, and the parameter that has it.
CALLS = {
    "closed_call": "call_jaxpr",
    "composite": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "jit": "jaxpr",
    "remat2": "jaxpr",
}


def rule(*names: str, **options: bool) -> Callable[[Any], Any]:
  """Registers a function as the rule of primitives."""

  def register(function):
    _rules.update(dict.fromkeys(names, Rule(function, **options)))
    return function

  return register


def find(name: str) -> Rule:
  return _rules.get(name) or Rule(_by_implementation)


def has(name: str) -> bool:
  """Returns whether a primitive has a rule of its own."""
  return name in _rules


def names() -> list[str]:
  """Returns the primitives that have a rule."""
  return sorted(_rules)


def callee(equation: Any) -> jex_core.ClosedJaxpr | None:
  """Returns what an equation calls with its operands, or None."""
  jaxpr = equation.params.get(CALLS.get(equation.primitive.name))
  # From jax 0.12 on, all jaxprs are of one class and have constants.
  is_open = jaxpr is not None and not hasattr(jaxpr, "consts")
  return jex_core.ClosedJaxpr(jaxpr, ()) if is_open else jaxpr


def _by_implementation(body, equation, *args):
  """Writes a primitive of another library as it is computed by jax.numpy."""
  if equation.name == "pure_callback":
    raise errors.Unsupported(jaxprs.no_callback())
  function = functools.partial(equation.of.primitive.impl, **equation.params)
  try:
    closed = body.traced(function, *args)
  except Exception as error:  # pylint: disable=broad-except
    # It may need values, and raise whatever its authors chose.
    raise errors.Unsupported(no_rule()) from error
  jaxprs.check_effects(closed.jaxpr)
  inner = {x.primitive for x in equations(closed.jaxpr)}
  # The implementation of jax's own primitives is the primitive, and no more.
  # That of lineax' solvers may call another one.
  own = equation.of.primitive
  if own in inner and all(x is own or x.name == "jit" for x in inner):
    raise errors.Unsupported(no_rule())
  return body.run(closed, args)
