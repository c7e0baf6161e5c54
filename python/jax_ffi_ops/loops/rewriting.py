# SPDX-License-Identifier: Apache-2.0
"""Equations of jaxprs in other places."""

from collections.abc import Callable, Mapping, Sequence
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


def inlined(
    jaxpr: jex_core.Jaxpr,
    find: Callable[[jex_core.JaxprEqn], jex_core.Jaxpr | None],
) -> jex_core.Jaxpr:
  """Returns a jaxpr with equations of others; the same one if there are none.

  Args:
    jaxpr: see above.
    find: returns what takes the place of an equation, if any.
  """
  others = list(map(find, jaxpr.eqns))
  if all(x is None for x in others):
    return jaxpr
  known = {x: x for x in (*jaxpr.invars, *jaxpr.constvars)}
  atom = lambda x: x if isinstance(x, jex_core.Literal) else known[x]
  found = []
  for equation, inner in zip(jaxpr.eqns, others):
    if inner is None:
      eqns, names = renamed([equation], known)
    else:
      args = map(atom, equation.invars)
      eqns, names = renamed(inner.eqns, dict(zip(inner.invars, args)))
      names = {
          out: x if isinstance(x, jex_core.Literal) else names[x]
          for out, x in zip(equation.outvars, inner.outvars)
      }
    found += eqns
    known |= names
  return jaxpr.replace(eqns=found, outvars=list(map(atom, jaxpr.outvars)))


def without_calls(jaxpr: jex_core.Jaxpr) -> jex_core.Jaxpr:
  """Returns a jaxpr with the equations of what it calls, but in loops."""
  return inlined(jaxpr, _called)


def _called(equation) -> jex_core.Jaxpr | None:
  """Returns what an equation calls, without calls, if anything."""
  closed = rules.callee(equation)
  return (
      None if closed is None or closed.consts else without_calls(closed.jaxpr)
  )
