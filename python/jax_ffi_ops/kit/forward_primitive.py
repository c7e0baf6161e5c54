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

from jax_ffi_ops.kit import binding
from jax_ffi_ops.kit import layout as layouts
from jax_ffi_ops.kit import looping
from jax_ffi_ops.kit import lowering
from jax_ffi_ops.kit.backward_primitive import BackwardPrimitive
from jax_ffi_ops.kit.calls import Call
from jax_ffi_ops.kit.choice import forward_choice
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.tangent_primitive import TangentPrimitive


class ForwardPrimitive:
  """The forward primitive of one op, which makes the others."""

  def __init__(self, op: Declaration):
    self.op = op
    self._backward = BackwardPrimitive(op)
    self._tangent = TangentPrimitive(op, self._backward)
    self.primitive = binding.primitive(
        op.name,
        self._avals,
        self._jvp,
        self._batch,
        self._transpose if op.transpose is not None else None,
    )
    handler = lowering.Handler(
        op.library,
        op.forward_target,
        op.forward_platforms,
        lambda platform, avals, **params: forward_choice(
            platform, self._call(params), avals
        ),
        in_full=self._in_full if op.broadcast_operands else None,
    )
    lowering.register(
        self.primitive,
        self._layout,
        lambda *operands, **params: self._call(params).reference(operands),
        handler,
    )

  def __call__(self, *operands: jax.Array, **params) -> list[jax.Array]:
    """Returns all results, the residuals too."""
    return binding.bind(self.primitive, operands, params)

  def _call(self, params):
    return Call.of(self.op, params)

  def _layout(self, operands, **params):
    return layouts.forward_layout(self._call(params), operands)

  def _avals(self, *operands, **params):
    return binding.avals(
        self._call(params).results(operands),
        operands,
        lambda: self._layout(operands, **params),
    )

  def _in_full(self, avals, **params):
    op = self._call(params).op
    dims = self._call(params).dimensions(dict(zip(op.operands, avals)))
    full = dims.all_full([op.axes[name][1] for name in op.operands])
    if dims.arrays == full:
      return None
    return lambda *operands: self.primitive.bind(
        *map(looping.fill, operands, dims.arrays, full), **params
    )

  def _jvp(self, operands, tangents, **params):
    call = self._call(params)
    op = call.op
    results = self(*operands, **params)
    outputs = [None] * len(results)
    moving = [op.is_differentiable(x.dtype) for x in operands]
    active = [type(t) is not ad.Zero and m for t, m in zip(tangents, moving)]
    indices = call.differentiable_results(operands)
    if any(active) and indices:
      if op.transpose is not None:
        computed = self(*map(ad.instantiate_zeros, tangents), **params)
      else:
        # Where operands are dropped, tangents say what shape these have.
        active = active if op.keeps_operands else moving
        computed = self._tangent.tangents(
            params, operands, results, tangents, active
        )
      for index, output in zip(indices, computed, strict=True):
        outputs[index] = output
    return results, [
        ad.Zero(jax.typeof(result).to_tangent_aval()) if t is None else t
        for result, t in zip(results, outputs)
    ]

  def _transpose(self, cotangents, *operands, **params):
    avals = [binding.aval(x) for x in operands]
    gradients = self._backward.gradients(params, avals, {}, cotangents)
    return [
        g if ad.is_undefined_primal(x) else None
        for g, x in zip(gradients, operands)
    ]

  def _batch(self, operands, axes, **params):
    call = self._call(params)
    op = call.op
    avals = [binding.without(x, axis) for x, axis in zip(operands, axes)]
    dims = call.dimensions(dict(zip(op.operands, avals)))
    starred = [op.axes[name][1] for name in op.operands]
    # What is last in all operands stays there, and nothing is transposed.
    if op.signature.starred and all(
        axis is None or (star and axis == x.ndim - 1)
        for x, axis, star in zip(operands, axes, starred)
    ):
      batched = [
          looping.add_trailing(x, axis, parts, dims) if star else x
          for x, axis, parts, star in zip(operands, axes, dims.arrays, starred)
      ]
      trailing = params["trailing_rank"] + 1
      results = self(*batched, **dict(params, trailing_rank=trailing))
      return results, [x.ndim - 1 for x in results]
    batched = [
        looping.add_leading(x, axis, parts, dims, star)
        for x, axis, parts, star in zip(operands, axes, dims.arrays, starred)
    ]
    results = self(*batched, **params)
    return results, [0] * len(results)
