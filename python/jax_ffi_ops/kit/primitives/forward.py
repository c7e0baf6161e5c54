# SPDX-License-Identifier: Apache-2.0
"""The primitive of an op: operands -> results, by the forward handler.

Another primitive computes its tangents. The transpose of that one is a third
primitive, which calls the backward handler. derivatives.py says what these two
compute. Along operands in which an op is linear (`transpose=`), it is its own
tangent primitive. An operand that is left out is passed to none of these.

Residuals that callers do not see have no tangents: they are functions of the
operands, so derivatives of any order that go through the operands alone are
complete.
"""

import functools

import jax
from jax.interpreters import ad

from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.primitives import batching
from jax_ffi_ops.kit.primitives import binding
from jax_ffi_ops.kit.primitives import lowering
from jax_ffi_ops.kit.primitives import pieces
from jax_ffi_ops.kit.primitives.backward import BackwardPrimitive
from jax_ffi_ops.kit.primitives.tangent import TangentPrimitive


class ForwardPrimitive:
  """The forward primitive of one op, which makes the others."""

  def __init__(self, op: Declaration):
    self._backward = BackwardPrimitive(op)
    self._tangent = TangentPrimitive(op, self._backward)
    self.primitive = binding.primitive(
        op.name,
        self._jvp,
        self._batch,
        self._transpose
        if op.derivatives.transpose
        else _transpose_of_reference,
    )
    lowering.register(
        self.primitive,
        pieces.forward,
        op.library,
        op.forward_platforms,
        calls_back=op.split is not None,
    )

  def __call__(
      self, *operands: jax.Array, call: ForwardCall
  ) -> list[jax.Array]:
    """Returns all results, the residuals too."""
    return binding.bind(self.primitive, operands, call)

  def _jvp(self, operands, tangents, *, call):
    op = call.op
    results = dict(zip(op.result_names, self(*operands, call=call)))
    outputs = call.moving_results(operands)
    moving = [op.is_differentiable(x.dtype) for x in operands]
    active = [type(t) is not ad.Zero and m for t, m in zip(tangents, moving)]
    if any(active) and not op.keeps_operands and not op.is_linear:
      # Tangents say what shape the operands have that are not kept.
      active = moving
    names = op.own_tangents
    along = [a and name in names for name, a in zip(op.operands, active)]
    terms = []
    if outputs and any(along):
      terms.append(self._along_linear(operands, tangents, call))
    others = [a and not own for a, own in zip(active, along)]
    if outputs and any(others):
      arrays = dict(zip(op.operands, operands)) | results
      found = self._tangent.tangents(call, arrays, tangents, others)
      terms.append(dict(zip(outputs, found, strict=True)))
    return list(results.values()), [
        functools.reduce(ad.add_jaxvals, [term[name] for term in terms])
        if terms and name in outputs
        else ad.Zero(jax.typeof(x).to_tangent_aval())
        for name, x in results.items()
    ]

  def _along_linear(self, operands, tangents, call):
    """Returns the results' tangents along the operands in which f is linear.

    If that is x, they are f(a, x_dot).
    """
    op = call.op
    moved = [
        ad.instantiate_zeros(t)
        if name in op.linear and op.is_differentiable(x.dtype)
        else x
        for name, x, t in zip(op.operands, operands, tangents)
    ]
    return dict(zip(op.result_names, self(*moved, call=call)))

  def _transpose(self, cotangents, *operands, call):
    op = call.op
    avals = [binding.aval(x) for x in operands]
    named = dict(zip(op.operands, operands))
    kept = {name: named[name] for name in op.kept_for_transpose}
    given = dict(zip(op.result_names, cotangents))
    gradients = self._backward.gradients(
        call,
        avals,
        kept,
        [given[name] for name in call.moving_results(avals)],
        transposed=True,
    )
    return [
        g if ad.is_undefined_primal(x) else None
        for g, x in zip(gradients, operands)
    ]

  def _batch(self, operands, axes, *, call):
    operands, call, axis = batching.forward(operands, axes, call)
    results = self(*operands, call=call)
    return results, [axis % x.ndim for x in results]


def _transpose_of_reference(cotangents, *operands, call):
  """For jax.linear_transpose, which linear solvers use."""
  linear = list(map(ad.is_undefined_primal, operands))

  def function(*chosen):
    rest = iter(chosen)
    arrays = [next(rest) if own else x for x, own in zip(operands, linear)]
    return list(call.reference(arrays).values())

  avals = [
      jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
      for x, own in zip(operands, linear)
      if own
  ]
  dy = list(map(ad.instantiate_zeros, cotangents))
  found = iter(jax.linear_transpose(function, *avals)(dy))
  return [next(found) if own else None for own in linear]
