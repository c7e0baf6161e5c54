# SPDX-License-Identifier: Apache-2.0
"""The primitive that stands for the tangents of an op.

Kept operands and results, tangents -> tangents of the visible results; linear
in the tangents. It exists for its transpose, the backward primitive.
"""

import functools

import jax
from jax.interpreters import ad

from jax_ffi_ops.kit import binding
from jax_ffi_ops.kit import derivatives
from jax_ffi_ops.kit import layout as layouts
from jax_ffi_ops.kit import lowering
from jax_ffi_ops.kit.backward_primitive import BackwardPrimitive
from jax_ffi_ops.kit.calls import Call
from jax_ffi_ops.kit.declaration import Declaration


class TangentPrimitive:
  """The tangent primitive of one op."""

  def __init__(self, op: Declaration, backward: BackwardPrimitive):
    self.op = op
    self._backward = backward
    self.primitive = binding.primitive(
        op.name + "_tangent",
        self._avals,
        self._jvp,
        self._batch,
        self._transpose,
    )
    lowering.register(self.primitive, self._layout, self._function)

  def tangents(
      self, params, operands, results, tangents, active
  ) -> list[jax.Array]:
    """Returns the tangents of the visible results that have any.

    Args:
      params: of the forward call.
      operands: of that.
      results: of that, residuals too.
      tangents: of the operands.
      active: which of these are passed.
    """
    op = Call.of(self.op, params).op
    params = dict(params, active=tuple(active))
    arrays = dict(zip((*op.operands, *op.result_names), (*operands, *results)))
    chosen = [ad.instantiate_zeros(t) for t, a in zip(tangents, active) if a]
    kept = [arrays[name] for name in _kept(op, active)]
    return binding.bind(self.primitive, [*kept, *chosen], params)

  def _split(self, operands, active, params):
    """Returns the call; its operands (or avals); what is kept, and tangents."""
    call = Call.of(self.op, params)
    op = call.op
    first = len(operands) - sum(active)
    names = [name for name, a in zip(op.operands, active) if a]
    tangents = dict(zip(names, operands[first:], strict=True))
    kept = dict(zip(_kept(op, active), operands[:first], strict=True))
    primals = [
        kept[name] if name in kept else binding.aval(tangents[name])
        for name in op.operands
    ]
    return call, primals, kept, tangents

  def _layout(self, operands, *, active, **params):
    call, primals, kept, tangents = self._split(operands, active, params)
    return layouts.tangent_layout(call, primals, tuple(kept), tuple(tangents))

  def _avals(self, *operands, active, **params):
    call, primals, _, _ = self._split(operands, active, params)
    results = call.results(primals)
    return binding.avals(
        [results[index] for index in call.differentiable_results(primals)],
        operands,
        lambda: self._layout(operands, active=active, **params),
    )

  def _function(self, *operands, active, by_reference=False, **params):
    return derivatives.jvp(*self._split(operands, active, params), by_reference)

  def _jvp(self, operands, tangents, **params):
    results = binding.bind(self.primitive, operands, params)
    rule = self.op.jvp
    by_reference = rule is not None and self.op.hidden.intersection(rule.names)
    function = functools.partial(
        self._function, by_reference=bool(by_reference), **params
    )
    return results, binding.tangents(function, operands, tangents)

  def _transpose(self, cotangents, *operands, active, **params):
    call, primals, kept, tangents = self._split(operands, active, params)
    own = {name: kept[name] for name in call.op.kept}
    gradients = self._backward.gradients(params, primals, own, cotangents)
    chosen = [g for g, a in zip(gradients, active) if a]
    return [None] * len(kept) + [
        g if ad.is_undefined_primal(t) else None
        for g, t in zip(chosen, tangents.values())
    ]

  def _batch(self, operands, axes, **params):
    function = functools.partial(self._function, **params)
    results = jax.vmap(function, axes)(*operands)
    return results, [0] * len(results)


def _kept(op, active):
  """Returns the names of what a tangent call has beside tangents."""
  dropped = {
      name
      for name, a in zip(op.operands, active)
      if a and name not in op.kept_for_jvp
  }
  operands = [name for name in op.operands if name not in dropped]
  return [*operands, *(n for n in op.kept_for_jvp if n not in op.operands)]
