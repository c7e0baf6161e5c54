# SPDX-License-Identifier: Apache-2.0
"""Ops of the kit in a jaxpr: their references take their place.

Rules are found by names, and an op may have that of one of jax's primitives.
"""

import functools
from typing import Any

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
  known = {x: x for x in (*jaxpr.invars, *jaxpr.constvars)}
  atom = lambda x: x if isinstance(x, jex_core.Literal) else known[x]
  found = []
  for equation in jaxpr.eqns:
    args = list(map(atom, equation.invars))
    inner = _reference(equation)
    if inner is None:
      own = equation.replace(invars=args, params=_params(equation))
      is_same = args == equation.invars and own.params is equation.params
      found.append(equation if is_same else own)
      known |= {x: x for x in equation.outvars}
      continue
    eqns, names = rewriting.renamed(inner.eqns, dict(zip(inner.invars, args)))
    found += eqns
    known |= {
        out: x if isinstance(x, jex_core.Literal) else names[x]
        for out, x in zip(equation.outvars, inner.outvars, strict=True)
    }
  if found == list(jaxpr.eqns):  # Equations are compared by identity.
    return jaxpr
  return jaxpr.replace(eqns=found, outvars=list(map(atom, jaxpr.outvars)))


def _reference(equation) -> jex_core.Jaxpr | None:
  """Returns what an op stands for, without ops, or None of what is no op."""
  function = lowering.references.get(equation.primitive)
  if function is None:
    return None
  avals = [x.aval for x in equation.invars]
  closed = jax.make_jaxpr(functools.partial(function, **equation.params))(
      *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in avals)
  )
  if closed.consts:
    raise errors.Unsupported(
        "the definition of this op has constants: compute it outside of the op"
    )
  return _without_ops(closed.jaxpr)


def _params(equation) -> dict[str, Any]:
  """Returns the parameters of an equation, with jaxprs that have no ops."""
  found = {name: _of_param(x) for name, x in equation.params.items()}
  is_same = all(x is found[name] for name, x in equation.params.items())
  return equation.params if is_same else found


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
