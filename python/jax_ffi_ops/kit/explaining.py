# SPDX-License-Identifier: Apache-2.0
"""Says which of handler and reference a call runs, on each platform."""

from typing import Any

import jax

from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.function import ops_of

_PLATFORMS = ("cpu", "cuda")


def explain(function: Any, *operands: Any, **attributes: Any) -> str:
  """Returns what a call of an op runs on each platform, and why.

  On several devices, the shapes of one device's part decide. The text
  also names the rules that compute gradients.

  Args:
    function: an op, or a function that is marked by `kit.public`.
    *operands: of the call: arrays, or what has shape and dtype.
    **attributes: of the call.
  """
  lines = []
  targets = {op.targets for op in ops_of(function)}

  def collect(jaxpr):
    for equation in jaxpr.eqns:
      call = equation.params.get("call")
      # The op of a reloaded module is another, with the same targets.
      if isinstance(call, ForwardCall) and call.declared.targets in targets:
        lines.extend(_lines(call, [x.aval for x in equation.invars]))
      for inner in jax.tree.leaves(list(equation.params.values())):
        if hasattr(inner, "jaxpr"):
          collect(inner.jaxpr)

  present = [x for x in operands if x is not None]

  def call(*arrays):
    arrays = iter(arrays)
    return function(
        *(None if x is None else next(arrays) for x in operands), **attributes
    )

  collect(jax.make_jaxpr(call)(*present).jaxpr)
  return "\n".join(lines)


def _lines(call, avals):
  op = call.op
  rules = (name for name in ("backward", "jvp") if getattr(op, name))
  rule = next(rules, "reference")
  by_transpose, others = _gradients(op, avals)
  along = f" for {', '.join(others)}" if by_transpose else ""
  for platform in _PLATFORMS:

    def runs(target, platforms, otherwise, along="", backward=False):
      reason = call.declined(platform, avals, backward)
      if platform not in platforms:
        reason = f"there is no handler {target} for it"
      if reason:
        return f"{otherwise}{along} ({reason})"
      return f"handler {target}{along}"

    forward = runs(op.forward_target, op.forward_platforms, "reference")
    backward = runs(
        op.backward_target, op.backward_platforms, rule, along, True
    )
    if by_transpose and not others:
      backward = "transpose"
    elif by_transpose:
      backward = f"transpose for {', '.join(by_transpose)}, {backward}"
    yield f"{op.name} on {platform}: forward: {forward}; backward: {backward}"
  yield f"{op.name} elsewhere: reference (there are no handlers)"


def _gradients(op, avals):
  """Returns which operands' gradients `transpose=` computes, and the others."""
  # As primitives/forward.py has it.
  linear = op.linear if op.keeps_operands or op.is_linear else ()
  found = [], []
  for name, x in zip(op.operands, avals):
    if op.is_differentiable(x.dtype):
      found[name not in linear].append(name)
  return found
