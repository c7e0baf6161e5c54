# SPDX-License-Identifier: Apache-2.0
"""Puts ops in the place of a program's loops, and leaves all else to XLA."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

_Called = Callable[[Callable[..., Any], Sequence[Any]], Any]


def with_ops(
    closed: jex_core.ClosedJaxpr, called: _Called
) -> tuple[int, jex_core.ClosedJaxpr]:
  """Replaces the outermost loops of a jaxpr by calls of ops.

  Args:
    closed: the jaxpr.
    called: calls the op of a function, or returns None if there is none.

  Returns:
    How many loops have an op, and the jaxpr with these.
  """
  count = 0

  def counted(function, operands):
    nonlocal count
    found = called(function, operands)
    count += found is not None
    return found

  replaced = _with_ops(closed, counted)
  return count, replaced


def _with_ops(closed, called):
  replaced = [y for x in closed.jaxpr.eqns for y in _replaced(x, called)]
  return closed.replace(jaxpr=closed.jaxpr.replace(eqns=replaced))


def _replaced(equation, called) -> Iterator[jex_core.JaxprEqn]:
  params, name = equation.params, equation.primitive.name
  if name in ("scan", "while"):
    yield from _loop(equation, called)
    return
  match name:
    case "jit":
      params = dict(params, jaxpr=_with_ops(params["jaxpr"], called))
    case "cond":
      branches = [_with_ops(x, called) for x in params["branches"]]
      params = dict(params, branches=tuple(branches))
  yield equation.replace(params=params)


def _loop(equation, called):
  """Yields the equations that stand for a loop: the call of its op, if any."""
  has_op = True

  def loop(*operands):
    return equation.primitive.bind(*operands, **equation.params)

  def call(*operands):
    nonlocal has_op
    found = called(loop, operands)
    has_op = found is not None
    return found if has_op else loop(*operands)

  avals = [
      jax.ShapeDtypeStruct(
          x.aval.shape,
          x.aval.dtype,
          weak_type=getattr(x.aval, "weak_type", False),
      )
      for x in equation.invars
  ]
  traced = jax.make_jaxpr(call)(*avals)
  if not has_op or traced.consts:
    yield equation
    return
  # Its variables get the names that they have around the loop.
  names = dict(zip(traced.jaxpr.invars, equation.invars, strict=True))
  names |= zip(traced.jaxpr.outvars, equation.outvars, strict=True)
  own = lambda x: names.get(x, x) if isinstance(x, jex_core.Var) else x
  for x in traced.jaxpr.eqns:
    yield x.replace(
        invars=list(map(own, x.invars)), outvars=list(map(own, x.outvars))
    )
