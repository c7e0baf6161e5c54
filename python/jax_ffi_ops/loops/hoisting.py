# SPDX-License-Identifier: Apache-2.0
"""Moves what no step of a loop changes to where the loop begins.

g++ moves single numbers out of loops. It moves no arrays in memory, and no
loops over them.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from jax.extend import core as jex_core

from jax_ffi_ops.kit.equations import equations
from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rewriting
from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops import values

# A step does again what costs no more than reading its result. Views cost
# nothing. Products have to be seen by the sums that do not round them.
_FREE = (
    "broadcast_in_dim", "copy", "iota", "mul", "random_unwrap", "random_wrap",
    "reshape", "rev", "slice", "square", "squeeze", "stop_gradient",
    "transpose",
)  # fmt: skip
# The same, of small arrays.
_CHEAP = (
    "abs", "add", "add_any", "and", "clamp", "concatenate",
    "convert_element_type", "eq", "ge", "gt", "integer_pow", "is_finite", "le",
    "lt", "max", "min", "ne", "neg", "not", "or", "pad", "select_n",
    "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign",
    "split", "stack", "sub", "tile", "unstack", "xor",
)  # fmt: skip
# Results of so many elements are kept in memory, and those that are no larger
# than an operand. Of others, a step may write an element where it is read.
_MOST_KEPT = 1 << 14


def hoisted(closed: jex_core.ClosedJaxpr) -> jex_core.ClosedJaxpr:
  """Returns a jaxpr whose loops compute only what their steps change."""
  jaxpr = _within(closed.jaxpr)
  return closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)


def _within(jaxpr):
  """Does it for the loops in a jaxpr; returns the same one if nothing moves."""
  found = []
  for equation in jaxpr.eqns:
    found += _RULES.get(equation.primitive.name, _of_others)(equation)
  if found == list(jaxpr.eqns):  # Equations are compared by identity.
    return jaxpr
  return jaxpr.replace(eqns=found)


def _of_others(equation) -> list[Any]:
  params = equation.params
  inner = params.get(rules.CALLS.get(equation.primitive.name))
  if inner is None:
    return [equation]
  moved = (
      _within(inner) if isinstance(inner, jex_core.Jaxpr) else hoisted(inner)
  )
  if moved is inner:
    return [equation]
  key = rules.CALLS[equation.primitive.name]
  return [equation.replace(params={**params, key: moved})]


def _of_cond(equation):
  branches = equation.params["branches"]
  moved = tuple(map(hoisted, branches))
  if all(a is b for a, b in zip(moved, branches)):
    return [equation]
  return [equation.replace(params={**equation.params, "branches": moved})]


def _of_scan(equation):
  params, (consts, carries) = equation.params, jaxprs.scan_counts(
      equation.params
  )
  step = _Step.of(params["jaxpr"])
  runs = isinstance(params["length"], int) and params["length"] > 0
  fixed = [*range(consts), *_kept(step.jaxpr, consts, carries)]
  moved = step.split(fixed, equation.invars, runs)
  if moved is None:
    return [equation]
  own = {"jaxpr": moved.step, "hoisted": len(moved.results)}
  invars = [*moved.results, *equation.invars]
  return [
      *moved.before,
      equation.replace(invars=invars, params={**params, **own}),
  ]


def _of_while(equation):
  params, invars = equation.params, equation.invars
  test, step = params["cond_jaxpr"], params["body_jaxpr"]
  if test.out_avals[0].shape:
    return [equation]  # Under vmap: jax writes it as another loop first.
  first, second = params["cond_nconsts"], params["body_nconsts"]
  carry = invars[first + second :]
  of_test = [*invars[:first], *carry]
  of_step = [*invars[first : first + second], *carry]
  test, step = map(_Step.of, (test, step))
  kept = [k - second for k in _kept(step.jaxpr, second, len(carry))]
  moved = [
      # The condition is computed at least once, and a step perhaps never.
      own.split([*range(n), *(n + k for k in kept)], operands, runs)
      or _Moved([], [], own.closed)
      for own, n, operands, runs in [
          (test, first, of_test, True),
          (step, second, of_step, False),
      ]
  ]
  if moved[0].step is test.closed and moved[1].step is step.closed:
    return [equation]
  own = {
      "cond_jaxpr": moved[0].step,
      "body_jaxpr": moved[1].step,
      "cond_nconsts": first + len(moved[0].results),
      "body_nconsts": second + len(moved[1].results),
  }
  results = [*moved[0].results, *invars[:first], *moved[1].results]
  invars = [*results, *invars[first:]]
  return [
      *moved[0].before,
      *moved[1].before,
      equation.replace(invars=invars, params={**params, **own}),
  ]


_RULES = {"cond": _of_cond, "scan": _of_scan, "while": _of_while}


def _kept(jaxpr, consts, carries) -> list[int]:
  """Returns the numbers of the operands that are carries and stay the same."""
  return [
      consts + k
      for k in range(carries)
      if jaxpr.outvars[k] is jaxpr.invars[consts + k]
  ]


class _Moved(NamedTuple):
  """What leaves a loop.

  Attributes:
    before: equations.
    results: the variables of these that the steps read.
    step: what stays. These results are its first operands.
  """

  before: list[Any]
  results: list[Any]
  step: jex_core.ClosedJaxpr


class _Step(NamedTuple):
  """What a loop does again and again.

  Attributes:
    closed: as jax has it.
    jaxpr: the same without calls; what leaves inner loops is a part of it.
    is_changed: whether anything has left them.
  """

  closed: jex_core.ClosedJaxpr
  jaxpr: jex_core.Jaxpr
  is_changed: bool

  @classmethod
  def of(cls, closed: jex_core.ClosedJaxpr) -> "_Step":
    flat = rewriting.without_calls(closed.jaxpr)
    moved = _within(flat)
    return cls(closed, moved, moved is not flat)

  def split(
      self, fixed: Iterable[int], operands: Sequence[Any], runs: bool
  ) -> _Moved | None:
    """Returns what leaves the loop, or None if all stays as it was.

    Args:
      fixed: the numbers of the operands that no step changes.
      operands: all of them, as the loop gets them.
      runs: whether there is a step in any case.
    """
    jaxpr = self.jaxpr
    known = {jaxpr.invars[i]: operands[i] for i in fixed}
    makers = _makers(jaxpr, known, runs)
    staying, results = _staying(jaxpr, makers, _numbers(makers))
    if not results and not self.is_changed:
      return None
    before = rewriting.needed(
        [e for e in jaxpr.eqns if _made(e, makers)], results
    )
    before, names = rewriting.renamed(before, known)
    jaxpr = jaxpr.replace(invars=[*results, *jaxpr.invars], eqns=staying)
    step = self.closed.replace(jaxpr=jaxpr)
    return _Moved(before, [names[x] for x in results], step)


def _makers(jaxpr, known, runs) -> dict[Any, Any]:
  """Returns the equations that may move, by their results."""
  makers = {}
  for equation in jaxpr.eqns:
    read = jaxprs.variables(equation.invars)
    if (
        all(x in known or x in makers for x in read)
        and not equation.effects
        and (runs or _ends_soon(equation))
        and all(_is_kept(x.aval, read) for x in equation.outvars)
    ):
      makers |= dict.fromkeys(equation.outvars, equation)
  return makers


def _made(equation, makers):
  return makers.get(equation.outvars[0]) is equation


def _ends_soon(equation):
  """Returns whether an equation is no loop: that might take long, or for ever."""
  inner = equation.params.get("branches", ())
  names = {x.primitive.name for b in inner for x in equations(b.jaxpr)}
  return names.isdisjoint(_RULES) and equation.primitive.name not in _RULES


def _is_kept(aval, read):
  return values.is_small(aval.shape, _MOST_KEPT) or any(
      x.aval.shape == aval.shape for x in read
  )


def _numbers(makers) -> set[Any]:
  """Returns what JAX computes of constants when the C++ is written."""
  found = set()
  for x, equation in makers.items():
    if found.issuperset(jaxprs.variables(equation.invars)):
      found.add(x)
  return found


def _staying(jaxpr, makers, numbers) -> tuple[list[Any], list[Any]]:
  """Returns the equations of each step, and what these read of the others."""
  again: set[int] = set()
  results = {}
  todo = [x for e in jaxpr.eqns if not _made(e, makers) for x in e.invars]
  todo += jaxpr.outvars
  while todo:
    x = todo.pop()
    maker = None if isinstance(x, jex_core.Literal) else makers.get(x)
    if maker is None or id(maker) in again:
      continue
    if x in numbers or _is_cheap(maker):
      again.add(id(maker))
      todo += maker.invars
    else:
      results[x] = None
  staying = [e for e in jaxpr.eqns if id(e) in again or not _made(e, makers)]
  order = {x: i for i, x in enumerate(makers)}
  return staying, sorted(results, key=order.get)


def _is_cheap(equation):
  name = equation.primitive.name
  sizes = [x.aval.shape for x in equation.outvars]
  return name in _FREE or name in _CHEAP and all(map(values.is_small, sizes))
