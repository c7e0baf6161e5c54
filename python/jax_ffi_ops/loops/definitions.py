# SPDX-License-Identifier: Apache-2.0
"""Ops of the kit in a jaxpr: their references take their place.

Rules are found by names, and an op may have that of one of jax's primitives.
"""

import functools

import jax
from jax.extend import core as jex_core

from jax_ffi_ops.kit.primitives import lowering
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import rewriting


def in_place_of_ops(closed: jex_core.ClosedJaxpr) -> jex_core.ClosedJaxpr:
  """Returns a jaxpr without ops; the same one, if it has none."""
  jaxpr = _without_ops(closed.jaxpr)
  return closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)


def _without_ops(jaxpr):
  found = list(map(_inside, jaxpr.eqns))
  if found != list(jaxpr.eqns):  # Equations are compared by identity.
    jaxpr = jaxpr.replace(eqns=found)
  return rewriting.inlined(jaxpr, _reference)


def _inside(equation):
  """Returns an equation whose jaxprs have no ops."""
  params = equation.params
  found = {name: _of_param(x) for name, x in params.items()}
  if all(x is params[name] for name, x in found.items()):
    return equation
  return equation.replace(params=found)


def _reference(equation) -> jex_core.Jaxpr | None:
  """Returns what an op stands for, without ops, or None of what is no op."""
  function = lowering.references.get(equation.primitive)
  if function is None:
    return None
  closed = jax.make_jaxpr(functools.partial(function, **equation.params))(
      *(
          jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
          for x in equation.invars
      )
  )
  if closed.consts:
    raise errors.Unsupported(
        "the definition of this op has constants: compute it outside of the op"
    )
  return _without_ops(closed.jaxpr)


def _of_param(value):
  if isinstance(value, jex_core.ClosedJaxpr):
    return in_place_of_ops(value)
  if isinstance(value, jex_core.Jaxpr):
    return _without_ops(value)
  if isinstance(value, tuple):
    found = list(map(_of_param, value))
    if all(x is own for x, own in zip(found, value)):
      return value
    return value._make(found) if hasattr(value, "_make") else tuple(found)
  return value
