# SPDX-License-Identifier: Apache-2.0
"""Which values differ between lanes: from operands to results of a jaxpr."""

from collections.abc import Sequence

from jax.extend import core as jex_core

from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rules


def varying(jaxpr: jex_core.Jaxpr, lanes: Sequence[bool]) -> list[bool]:
  """Returns which results differ, given which operands do."""
  known = dict(zip(jaxpr.invars, lanes, strict=True))

  def read(x):
    return not isinstance(x, jex_core.Literal) and known.get(x, False)

  for equation in jaxpr.eqns:
    found = _results(equation, [read(x) for x in equation.invars])
    known |= zip(equation.outvars, found, strict=True)
  return [read(x) for x in jaxpr.outvars]


def _results(equation, lanes):
  params = equation.params
  match equation.primitive.name:
    case "scan":
      return scan(params, lanes)[1]
    case "while":
      return while_loop(params, lanes)[1]
    case "cond":
      branches = [varying(b.jaxpr, lanes[1:]) for b in params["branches"]]
      return [lanes[0] or any(x) for x in zip(*branches)]
  inner = rules.callee(equation)
  if inner is not None:
    return varying(inner.jaxpr, lanes)
  return [any(lanes)] * len(equation.outvars)


def _fixed_point(step, carry):
  while True:
    found = [a or b for a, b in zip(carry, step(carry))]
    if found == carry:
      return carry
    carry = found


def scan(params, lanes: Sequence[bool]) -> tuple[list[bool], list[bool]]:
  """Returns which carries differ, and which results."""
  consts, carries = jaxprs.scan_counts(params)
  jaxpr = params["jaxpr"].jaxpr
  first, xs = list(lanes[:consts]), list(lanes[consts + carries :])

  def step(carry):
    return varying(jaxpr, first + carry + xs)

  carry = _fixed_point(
      lambda c: step(c)[:carries], list(lanes[consts : consts + carries])
  )
  return carry, carry + step(carry)[carries:]


def while_loop(params, lanes: Sequence[bool]) -> tuple[bool, list[bool]]:
  """Returns whether lanes end at different steps, and which carries differ."""
  first, second = params["cond_nconsts"], params["body_nconsts"]
  of_cond = list(lanes[:first])
  of_body = list(lanes[first : first + second])

  def ends(carry):
    return varying(params["cond_jaxpr"].jaxpr, of_cond + carry)[0]

  def step(carry):
    found = varying(params["body_jaxpr"].jaxpr, of_body + carry)
    return [x or ends(carry) for x in found]

  carry = _fixed_point(step, list(lanes[first + second :]))
  return ends(carry), carry
