# SPDX-License-Identifier: Apache-2.0
"""The primitive that stands for the tangents of an op.

Kept operands and results, tangents -> tangents of the visible results; linear
in the tangents. It exists for its transpose, the backward primitive.
"""

from collections.abc import Mapping, Sequence
import functools
from typing import Any

import jax
from jax.interpreters import ad

from jax_ffi_ops.kit.calls import choice
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.calls.tangent import TangentCall
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.primitives import binding
from jax_ffi_ops.kit.primitives import derivatives
from jax_ffi_ops.kit.primitives import lowering
from jax_ffi_ops.kit.primitives.backward import BackwardPrimitive


class TangentPrimitive:
  """The tangent primitive of one op."""

  def __init__(self, op: Declaration, backward: BackwardPrimitive):
    self._backward = backward
    self._rule = op.derivatives.jvp
    self.primitive = binding.primitive(
        op.name + "_tangent", self._jvp, self._batch, self._transpose
    )
    lowering.register(
        self.primitive, derivatives.jvp, calls_back=op.split is not None
    )

  def tangents(
      self,
      forward: ForwardCall,
      arrays: Mapping[str, jax.Array],
      tangents: Sequence[Any],
      active: Sequence[bool],
  ) -> list[jax.Array]:
    """Returns the tangents of the visible results that have any.

    Args:
      forward: the call of the op.
      arrays: its operands and all results.
      tangents: of the operands.
      active: which of these are passed.
    """
    call = TangentCall(forward, tuple(active))
    chosen = [ad.instantiate_zeros(t) for t, a in zip(tangents, active) if a]
    kept = [arrays[name] for name in call.kept]
    operands = [arrays[name] for name in forward.op.operands]
    if choice.is_differentiated_by_jax(forward, operands):
      return derivatives.jvp(*kept, *chosen, call=call)
    return binding.bind(self.primitive, [*kept, *chosen], call)

  def _jvp(self, operands, tangents, *, call):
    results = binding.bind(self.primitive, operands, call)
    rule = self._rule
    by_reference = rule is not None and call.op.hidden.intersection(rule.names)
    function = functools.partial(
        derivatives.jvp, call=call, by_reference=bool(by_reference)
    )
    return results, binding.tangents(function, operands, tangents)

  def _transpose(self, cotangents, *operands, call):
    avals = [binding.aval(x) for x in operands]
    arrays = call.named(operands)
    kept = {name: arrays[name] for name in call.op.kept}
    tangents = dict(zip(call.moving, operands[len(call.kept) :], strict=True))
    wanted = {n for n, t in tangents.items() if ad.is_undefined_primal(t)}
    gradients = self._backward.gradients(
        call.forward,
        call.operands(avals),
        kept,
        cotangents,
        unwanted=[n for n in call.op.operands if n not in wanted],
    )
    found = dict(zip(call.op.operands, gradients, strict=True))
    return [None] * len(call.kept) + [
        found[n] if n in wanted else None for n in tangents
    ]

  def _batch(self, operands, axes, *, call):
    function = functools.partial(derivatives.jvp, call=call)
    results = jax.vmap(function, axes)(*operands)
    return results, [0] * len(results)
