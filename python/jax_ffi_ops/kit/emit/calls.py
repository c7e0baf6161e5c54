# SPDX-License-Identifier: Apache-2.0
"""Equations that call another jaxpr: jit, custom derivatives, remat."""

from typing import Any

from jax.extend import core as jex_core

# The parameter that has the jaxpr.
CALLS = {
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "composite": "jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat2": "jaxpr",
}


def callee(equation: Any) -> jex_core.ClosedJaxpr | None:
  """Returns what an equation calls with its operands, or None."""
  key = CALLS.get(equation.primitive.name)
  if key is None:
    return None
  jaxpr = equation.params[key]
  if isinstance(jaxpr, jex_core.ClosedJaxpr):
    return jaxpr
  return jex_core.ClosedJaxpr(jaxpr, ())
