# SPDX-License-Identifier: Apache-2.0
"""The three primitives of an op: forward, tangent and backward.

forward   operands -> results; the forward handler.
tangent   kept operands and results, tangents -> tangents of the visible
          results; linear in the tangents. It exists for its transpose, which is
backward  kept operands, residuals, cotangents -> cotangents of the operands;
          the backward handler.

derivatives.py says what the last two stand for. An op with `transpose=` is its
own tangent primitive. Operands that are left out are not passed to any.

Residuals that callers do not see have no tangents: they are functions of the
operands, so derivatives of any order that go through the operands alone are
complete.
"""

import functools

import jax
from jax.interpreters import ad
from jax.interpreters import batching
import jax.numpy as jnp

from jax_ffi_ops.kit import backward as backwards
from jax_ffi_ops.kit import binding
from jax_ffi_ops.kit import derivatives
from jax_ffi_ops.kit import layout as layouts
from jax_ffi_ops.kit import looping
from jax_ffi_ops.kit import lowering
from jax_ffi_ops.kit import sharding
from jax_ffi_ops.kit.backward import BackwardCall
from jax_ffi_ops.kit.calls import Call
from jax_ffi_ops.kit.choice import backward_choice
from jax_ffi_ops.kit.choice import forward_choice
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.workspaces import workspaces


class Primitives:
  """The primitives of one op."""

  def __init__(self, op: Declaration):
    self.op = op
    self.forward_p = binding.primitive(op.name, self._forward_avals)
    self._tangent_p = binding.primitive(
        op.name + "_tangent", self._tangent_avals
    )
    self._backward_p = binding.primitive(op.name + "_bwd", self._backward_avals)

    ad.primitive_jvps[self.forward_p] = self._forward_jvp
    ad.primitive_jvps[self._tangent_p] = self._tangent_jvp
    ad.primitive_transposes[self._tangent_p] = self._tangent_transpose
    ad.primitive_jvps[self._backward_p] = self._backward_jvp
    if op.transpose is not None:
      ad.primitive_transposes[self.forward_p] = self._forward_transpose
    batching.primitive_batchers[self.forward_p] = self._forward_batch
    batching.primitive_batchers[self._tangent_p] = self._tangent_batch
    batching.primitive_batchers[self._backward_p] = self._backward_batch

    lowering.register(
        self.forward_p,
        self._forward_layout,
        lambda *operands, **params: self._call(params).reference(operands),
        lowering.Handler(
            op.library,
            op.forward_target,
            op.forward_platforms,
            lambda platform, avals, **params: forward_choice(
                platform, self._call(params), avals
            ),
        ),
    )
    lowering.register(self._tangent_p, self._tangent_layout, self._jvp)
    lowering.register(
        self._backward_p,
        self._backward_layout,
        self._backward_function,
        lowering.Handler(
            op.library,
            op.backward_target,
            op.backward_platforms,
            lambda platform, avals, **params: backward_choice(
                platform, self._backward_call(avals, **params)
            ),
            lambda avals, **params: workspaces(
                self._backward_call(avals, **params)
            ),
        ),
    )

  def _call(self, params) -> Call:
    return Call.of(self.op, params)

  def forward(self, *operands: jax.Array, **params) -> list[jax.Array]:
    """Returns all results, the residuals too."""
    return binding.bind(self.forward_p, operands, params)

  def _forward_layout(self, operands, **params):
    return layouts.forward_layout(self._call(params), operands)

  def _forward_avals(self, *operands, **params):
    return binding.avals(
        self._call(params).results(operands),
        operands,
        lambda: self._forward_layout(operands, **params),
    )

  def _forward_jvp(self, operands, tangents, **params):
    call = self._call(params)
    op = call.op
    results = self.forward(*operands, **params)
    outputs = [None] * len(results)
    moving = [op.is_differentiable(x.dtype) for x in operands]
    active = [type(t) is not ad.Zero and m for t, m in zip(tangents, moving)]
    indices = call.differentiable_results(operands)
    if any(active) and indices:
      if op.transpose is not None:
        computed = self.forward(*map(ad.instantiate_zeros, tangents), **params)
      else:
        # Where operands are dropped, tangents say what shape these have.
        active = active if op.keeps_operands else moving
        computed = self._bind_tangent(
            operands, results, tangents, active, params
        )
      for index, output in zip(indices, computed, strict=True):
        outputs[index] = output
    return results, [
        ad.Zero(jax.typeof(result).to_tangent_aval()) if t is None else t
        for result, t in zip(results, outputs)
    ]

  def _bind_tangent(self, operands, results, tangents, active, params):
    op = self._call(params).op
    params = dict(params, active=tuple(active))
    arrays = dict(zip((*op.operands, *op.result_names), (*operands, *results)))
    chosen = [ad.instantiate_zeros(t) for t, a in zip(tangents, active) if a]
    kept = [arrays[name] for name in _kept_for_jvp(op, active)]
    return binding.bind(self._tangent_p, [*kept, *chosen], params)

  def _forward_transpose(self, cotangents, *operands, **params):
    avals = [binding.aval(x) for x in operands]
    gradients = self._gradients(params, avals, {}, cotangents)
    return [
        g if ad.is_undefined_primal(x) else None
        for g, x in zip(gradients, operands)
    ]

  def _forward_batch(self, operands, axes, **params):
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
      results = self.forward(*batched, **dict(params, trailing_rank=trailing))
      return results, [x.ndim - 1 for x in results]
    batched = [
        looping.add_leading(x, axis, parts, dims, star)
        for x, axis, parts, star in zip(operands, axes, dims.arrays, starred)
    ]
    results = self.forward(*batched, **params)
    return results, [0] * len(results)

  def _split(self, operands, active, params):
    """Returns all operands (or avals), what is kept, and tangents, by name."""
    op = self._call(params).op
    first = len(operands) - sum(active)
    names = [name for name, a in zip(op.operands, active) if a]
    tangents = dict(zip(names, operands[first:], strict=True))
    kept = dict(zip(_kept_for_jvp(op, active), operands[:first], strict=True))
    primals = [
        kept[name] if name in kept else binding.aval(tangents[name])
        for name in op.operands
    ]
    return primals, kept, tangents

  def _tangent_layout(self, operands, *, active, **params):
    primals, kept, tangents = self._split(operands, active, params)
    call = self._call(params)
    return layouts.tangent_layout(call, primals, tuple(kept), tuple(tangents))

  def _tangent_avals(self, *operands, active, **params):
    primals, _, _ = self._split(operands, active, params)
    call = self._call(params)
    results = call.results(primals)
    return binding.avals(
        [results[index] for index in call.differentiable_results(primals)],
        operands,
        lambda: self._tangent_layout(operands, active=active, **params),
    )

  def _jvp(self, *operands, active, by_reference=False, **params):
    split = self._split(operands, active, params)
    return derivatives.jvp(self._call(params), *split, by_reference)

  def _tangent_jvp(self, operands, tangents, **params):
    results = binding.bind(self._tangent_p, operands, params)
    rule = self.op.jvp
    by_reference = rule is not None and self.op.hidden.intersection(rule.names)
    function = functools.partial(
        self._jvp, by_reference=bool(by_reference), **params
    )
    return results, binding.tangents(function, operands, tangents)

  def _tangent_batch(self, operands, axes, **params):
    function = functools.partial(self._jvp, **params)
    results = jax.vmap(function, axes)(*operands)
    return results, [0] * len(results)

  def _tangent_transpose(self, cotangents, *operands, active, **params):
    primals, kept, tangents = self._split(operands, active, params)
    op = self._call(params).op
    own = {name: kept[name] for name in op.kept}
    gradients = self._gradients(params, primals, own, cotangents)
    chosen = [g for g, a in zip(gradients, active) if a]
    return [None] * len(kept) + [
        g if ad.is_undefined_primal(t) else None
        for g, t in zip(chosen, tangents.values())
    ]

  def _gradients(self, params, operands, kept, cotangents):
    """Returns the cotangents of all operands, None of those without any."""

    def backward(*arrays, batch_rank, info):
      own = dict(params, batch_rank=batch_rank, info=info)
      return binding.bind(self._backward_p, arrays, own)

    call = self._call(params)
    cotangents = [ad.instantiate_zeros(c) for c in cotangents]
    found = backwards.vjp(call, backward, operands, kept, cotangents)
    return [
        sharding.like(found[name], binding.aval(x)) if name in found else None
        for name, x in zip(call.op.operands, operands)
    ]

  def _backward_call(self, operands, *, batch_rank, info, **params):
    return BackwardCall.of(self._call(params), operands, batch_rank, info)

  def _backward_layout(self, operands, **params):
    return layouts.backward_layout(self._backward_call(operands, **params))

  def _backward_avals(self, *operands, **params):
    backward = self._backward_call(operands, **params)
    return binding.avals(
        list(backward.gradients.values()),
        operands,
        lambda: layouts.backward_layout(backward),
    )

  def _backward_function(self, *operands, higher=False, **params):
    own = {name: params[name] for name in ("batch_rank", "info")}
    return derivatives.backward(
        self._call(params), *operands, higher=higher, **own
    )

  def _backward_jvp(self, operands, tangents, **params):
    results = binding.bind(self._backward_p, operands, params)
    function = functools.partial(self._backward_function, higher=True, **params)
    return results, binding.tangents(function, operands, tangents)

  def _backward_batch(self, operands, axes, *, batch_rank, **params):
    batched = [
        jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes)
    ]
    results = binding.bind(
        self._backward_p, batched, dict(params, batch_rank=batch_rank + 1)
    )
    return results, [0] * len(results)


def _kept_for_jvp(op, active):
  """Returns the names of what a tangent call has beside tangents."""
  dropped = {
      name
      for name, a in zip(op.operands, active)
      if a and name not in op.kept_for_jvp
  }
  operands = [name for name in op.operands if name not in dropped]
  return [*operands, *(n for n in op.kept_for_jvp if n not in op.operands)]
