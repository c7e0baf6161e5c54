# SPDX-License-Identifier: Apache-2.0
"""Which arrays a jaxpr reads or changes in a few places.

A result that is such an operand needs no copy if nothing reads the operand
afterwards.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from jax.extend import core as jex_core

from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops import values

# Which operands are indices of the first.
_INDICES = {
    "dynamic_slice": slice(1, None),
    "dynamic_update_slice": slice(2, None),
    "gather": slice(1, 2),
}


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


def indexed_operands(jaxpr: jex_core.Jaxpr, fixed: Iterable[int]) -> set[int]:
  """Returns the numbers of operands that are arrays with indices that vary.

  Args:
    jaxpr: what reads or changes them.
    fixed: the numbers of operands that are constants.
  """
  origins = {x: i for i, x in enumerate(jaxpr.invars)}
  varying = set(origins).difference(jaxpr.invars[i] for i in fixed)
  found = set()
  for equation in jaxpr.eqns:
    if not varying.isdisjoint(jaxprs.variables(equation.invars)):
      varying.update(equation.outvars)
    own = [
        None if isinstance(x, jex_core.Literal) else origins.get(x)
        for x in equation.invars
    ]
    found |= {own[i] for i in _indexed(equation, varying)}
    for k, variable in enumerate(equation.outvars):
      i = _changed(equation, k)
      if i is None and _passes_on(equation, k):
        i = k
      if i is not None and own[i] is not None:
        origins[variable] = own[i]
  return found - {None}


def _passes_on(equation, k):
  """Returns whether result k of an unknown primitive could be operand k."""
  if rules.has(equation.primitive.name) or k >= len(equation.invars):
    return False
  return equation.invars[k].aval == equation.outvars[k].aval


def _indexed(equation, varying) -> Iterable[int]:
  """Returns the operands of an equation that have indices that vary."""
  name, params = equation.primitive.name, equation.params
  fixed = [
      i
      for i, x in enumerate(equation.invars)
      if isinstance(x, jex_core.Literal) or x not in varying
  ]
  if name in _INDICES or name.startswith("scatter"):
    indices = range(len(equation.invars))[_INDICES.get(name, slice(1, 2))]
    return [] if set(indices) <= set(fixed) else [0]
  if name == "cond":
    own = [i - 1 for i in fixed if i]
    found = (indexed_operands(x.jaxpr, own) for x in params["branches"])
    return [1 + i for i in set().union(*found)]
  if name == "scan":
    return indexed_by_scan(params, fixed)
  if name == "while":
    return indexed_by_while(params, fixed)
  inner = rules.callee(equation)
  return () if inner is None else indexed_operands(inner.jaxpr, fixed)


def indexed_by_scan(params: Any, fixed: Iterable[int]) -> set[int]:
  """Returns the same of a `scan`; of `fixed`, only what no step changes."""
  consts, carries = jaxprs.scan_counts(params)
  own = [i for i in fixed if i < consts]
  found = indexed_operands(params["jaxpr"].jaxpr, own)
  return {i for i in found if i < consts + carries}


def indexed_by_while(params: Any, fixed: Iterable[int]) -> set[int]:
  """Returns the same of a `while`."""
  first, second = params["cond_nconsts"], params["body_nconsts"]
  test, step = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
  of_test = indexed_operands(test, [i for i in fixed if i < first])
  of_step = indexed_operands(
      step, [i - first for i in fixed if first <= i < first + second]
  )
  return {
      *(i if i < first else i + second for i in of_test),
      *(i + first for i in of_step),
  }


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
