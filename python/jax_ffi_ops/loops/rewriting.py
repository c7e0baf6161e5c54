# SPDX-License-Identifier: Apache-2.0
"""Equations of jaxprs in other places."""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend import core as jex_core

from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rules


def renamed(
    eqns: Sequence[jex_core.JaxprEqn], known: Mapping[Any, Any]
) -> tuple[list[jex_core.JaxprEqn], dict[Any, Any]]:
  """Returns equations with variables of their own, and what these stand for.

  Args:
    eqns: all of them, in order.
    known: what takes the place of variables that other equations make.
  """
  names = dict(known)
  found = []
  for equation in eqns:
    invars = [
        x if isinstance(x, jex_core.Literal) else names[x]
        for x in equation.invars
    ]
    outvars = [jex_core.Var(x.aval) for x in equation.outvars]
    names |= zip(equation.outvars, outvars)
    found.append(equation.replace(invars=invars, outvars=outvars))
  return found, names


def needed(
    eqns: Sequence[jex_core.JaxprEqn], results: Sequence[Any]
) -> list[jex_core.JaxprEqn]:
  """Returns the equations, in order, that some variables are made by."""
  wanted = set(results)
  found = []
  for equation in reversed(eqns):
    if not wanted.isdisjoint(equation.outvars):
      wanted.update(jaxprs.variables(equation.invars))
      found.append(equation)
  return found[::-1]


def without_calls(jaxpr: jex_core.Jaxpr) -> jex_core.Jaxpr:
  """Returns a jaxpr with the equations of what it calls, but in loops."""
  if not any(map(_inlined, jaxpr.eqns)):
    return jaxpr
  known = {x: x for x in (*jaxpr.invars, *jaxpr.constvars)}
  atom = lambda x: x if isinstance(x, jex_core.Literal) else known[x]
  found = []
  for equation in jaxpr.eqns:
    inner, args = _inlined(equation), list(map(atom, equation.invars))
    if inner is None:
      eqns, names = renamed([equation], known)
    else:
      eqns, names = renamed(inner.eqns, dict(zip(inner.invars, args)))
      names = {
          out: x if isinstance(x, jex_core.Literal) else names[x]
          for out, x in zip(equation.outvars, inner.outvars)
      }
    found += eqns
    known |= names
  return jaxpr.replace(eqns=found, outvars=list(map(atom, jaxpr.outvars)))


def _inlined(equation) -> jex_core.Jaxpr | None:
  """Returns what takes the place of an equation, without calls, if any."""
  closed = rules.callee(equation)
  return (
      None if closed is None or closed.consts else without_calls(closed.jaxpr)
  )
