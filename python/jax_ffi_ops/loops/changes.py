# SPDX-License-Identifier: Apache-2.0
"""Which results are operands that a jaxpr changes in a few places.

They need no copy if nothing reads the operand afterwards.
"""

from collections.abc import Iterator
from typing import Any

from jax.extend import core as jex_core

from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops import values


def changed_operand(jaxpr: jex_core.Jaxpr, k: int) -> int | None:
  """Returns the number of the operand that result k is, or changes in part."""
  variable = jaxpr.outvars[k]
  made = {x: e for e in jaxpr.eqns for x in e.outvars}
  while not isinstance(variable, jex_core.Literal) and variable in made:
    equation = made[variable]
    i = _changed(equation, equation.outvars.index(variable))
    if i is None:
      return None
    variable = equation.invars[i]
  operands = list(jaxpr.invars)
  return operands.index(variable) if variable in operands else None


def reads_first(jaxpr: jex_core.Jaxpr) -> jex_core.Jaxpr:
  """Returns a jaxpr that reads large arrays before it changes them.

  jax writes the gradient of `x.at[i].set(y)` the other way around.
  """
  todo, done = list(jaxpr.eqns), []
  while todo:
    equation = todo.pop(0)
    for x in _changed_variables(equation):
      early = _early(x, equation, todo)
      done += early
      moved = set(map(id, early))
      todo = [e for e in todo if id(e) not in moved]
    done.append(equation)
  return jaxpr.replace(eqns=done)


def _changed_variables(equation) -> Iterator[Any]:
  for k in range(len(equation.outvars)):
    i = _changed(equation, k)
    if i is not None and not values.is_small(equation.invars[i].aval.shape):
      yield equation.invars[i]


def _early(x, change, later):
  """Returns the equations that read x, and those that they need.

  There are none if one of them needs what the change makes.
  """
  todo = [e for e in later if any(v is x for v in e.invars)]
  makers = {v: e for e in [change, *later] for v in e.outvars}
  needed = set()
  while todo:
    equation = todo.pop()
    if equation is change:
      return []
    if id(equation) in needed:
      continue
    needed.add(id(equation))
    todo += [
        makers[v]
        for v in equation.invars
        if not isinstance(v, jex_core.Literal) and v in makers
    ]
  return [e for e in later if id(e) in needed]


def _changed(equation, k):
  """Returns the number of the operand that result k of an equation changes."""
  name, params = equation.primitive.name, equation.params
  if name == "dynamic_update_slice" or name.startswith("scatter"):
    return 0
  if name == "scan":
    consts, carries = jaxprs.scan_counts(params)
    return consts + k if k < carries else None
  if name == "while":
    return params["cond_nconsts"] + params["body_nconsts"] + k
  if name == "cond":
    found = [changed_operand(x.jaxpr, k) for x in params["branches"]]
    return next((1 + i for i in found if i is not None), None)
  inner = rules.callee(equation)
  return None if inner is None else changed_operand(inner.jaxpr, k)
