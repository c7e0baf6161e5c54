# SPDX-License-Identifier: Apache-2.0
"""Has the backward pass of a loop compute small steps again.

jax keeps all that the backward pass needs of each step. That is more than
caches hold, and reading it takes longer than a small step does.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend import core as jex_core

from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops import values


def recomputing(function: Callable[..., Any]) -> Callable[..., list[Any]]:
  """Returns a function of arrays whose derivatives keep only the carries."""

  def recomputed(*arrays):
    return jex_core.jaxpr_as_fun(_changed(jax.make_jaxpr(function)(*arrays)))(
        *arrays
    )

  return recomputed


def _changed(closed):
  equations = []
  for equation in closed.jaxpr.eqns:
    name = equation.primitive.name
    if name in ("jit", "scan"):
      inner = _changed(equation.params["jaxpr"])
      if name == "scan" and _is_small(inner.jaxpr):
        inner = jax.make_jaxpr(jax.checkpoint(jex_core.jaxpr_as_fun(inner)))(
            *(x.aval for x in inner.jaxpr.invars)
        )
      equation = equation.replace(params=dict(equation.params, jaxpr=inner))
    equations.append(equation)
  return closed.replace(jaxpr=closed.jaxpr.replace(eqns=equations))


def _is_small(jaxpr):
  """Returns whether a step has only small arrays, and no loop or `cond`."""
  for equation in jaxpr.eqns:
    if equation.primitive.name in ("scan", "while", "cond"):
      return False
    if not all(values.is_small(x.aval.shape) for x in equation.outvars):
      return False
    inner = rules.callee(equation)
    if inner is not None and not _is_small(inner.jaxpr):
      return False
  return True
