# SPDX-License-Identifier: Apache-2.0
"""The primitive of an op: operands -> results, by the forward handler.

Another primitive computes its tangents. The transpose of that one is a third
primitive, which calls the backward handler. derivatives.py says what these two
compute. An op with `transpose=` is its own tangent primitive. An operand that
is left out is passed to none of these primitives.

Residuals that callers do not see have no tangents: they are functions of the
operands, so derivatives of any order that go through the operands alone are
complete.
"""

import jax
from jax.interpreters import ad

from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.primitives import batching
from jax_ffi_ops.kit.primitives import binding
from jax_ffi_ops.kit.primitives import lowering
from jax_ffi_ops.kit.primitives.backward import BackwardPrimitive
from jax_ffi_ops.kit.primitives.tangent import TangentPrimitive


class ForwardPrimitive:
  """The forward primitive of one op, which makes the others."""

  def __init__(self, op: Declaration):
    self._is_linear = op.transpose is not None
    self._backward = BackwardPrimitive(op)
    self._tangent = TangentPrimitive(op, self._backward)
    self.primitive = binding.primitive(
        op.name,
        self._jvp,
        self._batch,
        self._transpose if self._is_linear else None,
    )
    lowering.register(
        self.primitive,
        lambda *operands, call: tuple(call.reference(operands).values()),
        op.library,
        op.forward_platforms,
    )

  def __call__(
      self, *operands: jax.Array, call: ForwardCall
  ) -> list[jax.Array]:
    """Returns all results, the residuals too."""
    return binding.bind(self.primitive, operands, call)

  def _jvp(self, operands, tangents, *, call):
    op = call.op
    results = dict(zip(op.result_names, self(*operands, call=call)))
    moving = [op.is_differentiable(x.dtype) for x in operands]
    active = [type(t) is not ad.Zero and m for t, m in zip(tangents, moving)]
    outputs = call.moving_results(operands)
    found = {}
    if any(active) and outputs:
      if self._is_linear:
        computed = self(*map(ad.instantiate_zeros, tangents), call=call)
      else:
        # Where operands are dropped, tangents say what shape these have.
        active = active if op.keeps_operands else moving
        arrays = dict(zip(op.operands, operands)) | results
        computed = self._tangent.tangents(call, arrays, tangents, active)
      found = dict(zip(outputs, computed, strict=True))
    return list(results.values()), [
        found[name]
        if name in found
        else ad.Zero(jax.typeof(x).to_tangent_aval())
        for name, x in results.items()
    ]

  def _transpose(self, cotangents, *operands, call):
    avals = [binding.aval(x) for x in operands]
    gradients = self._backward.gradients(call, avals, {}, cotangents)
    return [
        g if ad.is_undefined_primal(x) else None
        for g, x in zip(gradients, operands)
    ]

  def _batch(self, operands, axes, *, call):
    operands, call, axis = batching.forward(operands, axes, call)
    results = self(*operands, call=call)
    return results, [axis % x.ndim for x in results]
