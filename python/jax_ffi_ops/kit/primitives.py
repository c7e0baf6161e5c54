# SPDX-License-Identifier: Apache-2.0
"""The three primitives of an op: forward, tangent and backward.

forward   operands -> results; the forward handler.
tangent   operands, residuals, tangents -> tangents of the visible results;
          linear in the tangents, computed by jax.jvp of the reference. It
          exists for its transpose, which is
backward  operands, residuals, cotangents -> cotangents of the operands; the
          backward handler, or jax.vjp of the reference.

Residuals are functions of the operands, so derivatives of any order that go
through the operands alone are complete: residuals have no tangents.
"""

from collections.abc import Callable
import functools

import jax
from jax.extend import core as jex_core
from jax.interpreters import ad
from jax.interpreters import batching
from jax.interpreters import xla
import jax.numpy as jnp

from jax_ffi_ops.kit import layout as layouts
from jax_ffi_ops.kit import looping
from jax_ffi_ops.kit import lowering
from jax_ffi_ops.kit import rows
from jax_ffi_ops.kit import sharding
from jax_ffi_ops.kit import signature as signatures
from jax_ffi_ops.kit.declaration import Declaration


class Primitives:
  """The primitives of one op."""

  def __init__(self, op: Declaration):
    self.op = op
    self._forward_p = _primitive(op.name, self._forward_avals)
    self._tangent_p = _primitive(op.name + "_tangent", self._tangent_avals)
    self._backward_p = _primitive(op.name + "_bwd", self._backward_avals)

    ad.primitive_jvps[self._forward_p] = self._forward_jvp
    ad.primitive_jvps[self._tangent_p] = self._tangent_jvp
    ad.primitive_transposes[self._tangent_p] = self._tangent_transpose
    ad.primitive_jvps[self._backward_p] = self._backward_jvp
    batching.primitive_batchers[self._forward_p] = self._forward_batch
    batching.primitive_batchers[self._tangent_p] = self._tangent_batch
    batching.primitive_batchers[self._backward_p] = self._backward_batch

    lowering.register(
        self._forward_p,
        self._forward_layout,
        lambda *operands, **params: op.call_reference(operands, params),
        op.library,
        op.forward_target,
        op.forward_platforms,
    )
    lowering.register(self._tangent_p, self._tangent_layout, self._push_forward)
    lowering.register(
        self._backward_p,
        self._backward_layout,
        functools.partial(rows.backward_by_reference, op),
        op.library,
        op.backward_target,
        op.backward_platforms,
        op.workspace,
    )

  def forward(self, *operands: jax.Array, **params) -> list[jax.Array]:
    """Returns all results, the residuals too."""
    return _bind(self._forward_p, operands, params)

  def _forward_layout(self, operands, **params):
    del params
    return layouts.forward_layout(self.op, [x.shape for x in operands])

  def _forward_avals(self, *operands, **params):
    shapes = [x.shape for x in operands]
    signature = self.op.signature
    loops = signatures.broadcast(signature.loops(shapes))
    cores = signature.core_shapes(signature.results, shapes)
    return _avals(
        [(*loops, *core) for core in cores],
        self.op.result_dtypes(operands, params),
        operands,
        self._forward_layout(operands),
    )

  def _forward_jvp(self, operands, tangents, **params):
    results = self.forward(*operands, **params)
    _, residuals = self.op.split_results(results)
    active = tuple(
        type(t) is not ad.Zero and self.op.is_differentiable(x.dtype)
        for t, x in zip(tangents, operands)
    )
    outputs = [None] * len(results)
    if any(active):
      chosen = [t for t, a in zip(tangents, active) if a]
      computed = _bind(
          self._tangent_p,
          [*operands, *residuals, *chosen],
          dict(params, active=active),
      )
      indices = self.op.differentiable_results(
          range(len(results)), operands, params
      )
      for index, output in zip(indices, computed, strict=True):
        outputs[index] = output
    return results, [
        ad.Zero(jax.typeof(result).to_tangent_aval()) if t is None else t
        for result, t in zip(results, outputs)
    ]

  def _forward_batch(self, operands, axes, **params):
    ranks = [
        x.ndim - len(core) - (axis is not None)
        for x, core, axis in zip(operands, self.op.signature.operands, axes)
    ]
    batched = looping.add_batch_dimension(operands, axes, ranks)
    results = self.forward(*batched, **params)
    return results, [0] * len(results)

  def _split(self, operands, active):
    """Returns the operands, residuals and tangents of a tangent call."""
    count = len(self.op.signature.operands)
    first = len(operands) - sum(active)
    return operands[:count], operands[count:first], operands[first:]

  def _tangent_layout(self, operands, *, active, **params):
    return layouts.tangent_layout(self.op, operands, active, params)

  def _tangent_avals(self, *operands, active, **params):
    primals, _, _ = self._split(operands, active)
    results = self._forward_avals(*primals, **params)
    return self.op.differentiable_results(results, primals, params)

  def _push_forward(self, *operands, active, **params):
    primals, _, tangents = self._split(operands, active)

    def of_active(*chosen):
      chosen = iter(chosen)
      mixed = [next(chosen) if a else x for a, x in zip(active, primals)]
      return rows.reference(self.op, mixed, params)

    chosen = [x for a, x in zip(active, primals) if a]
    return jax.jvp(of_active, chosen, list(tangents))[1]

  def _tangent_jvp(self, operands, tangents, **params):
    results = _bind(self._tangent_p, operands, params)
    function = functools.partial(self._push_forward, **params)
    return results, _tangents(function, operands, tangents)

  def _tangent_batch(self, operands, axes, **params):
    function = functools.partial(self._push_forward, **params)
    results = jax.vmap(function, axes)(*operands)
    return results, [0] * len(results)

  def _tangent_transpose(self, cotangents, *operands, active, **params):
    primals, residuals, tangents = self._split(operands, active)

    def backward(*operands, batch_rank):
      return _bind(
          self._backward_p, operands, dict(params, batch_rank=batch_rank)
      )

    cotangents = [ad.instantiate_zeros(c) for c in cotangents]
    gradients = [None] * len(primals)
    computed = rows.pull_back(self.op, backward, primals, residuals, cotangents)
    for index, g in zip(self.op.differentiable(primals), computed):
      gradients[index] = sharding.like(g, primals[index])
    chosen = [g for g, a in zip(gradients, active) if a]
    return [None] * (len(primals) + len(residuals)) + [
        g if ad.is_undefined_primal(t) else None
        for g, t in zip(chosen, tangents)
    ]

  def _backward_layout(self, operands, *, batch_rank, **params):
    call = rows.BackwardCall.of(self.op, operands, params, batch_rank)
    return layouts.backward_layout(call, [x.shape for x in operands])

  def _backward_avals(self, *operands, batch_rank, **params):
    call = rows.BackwardCall.of(self.op, operands, params, batch_rank)
    return _avals(
        call.result_shapes(),
        [operands[index].dtype for index in call.results],
        operands,
        layouts.backward_layout(call, [x.shape for x in operands]),
    )

  def _backward_jvp(self, operands, tangents, **params):
    results = _bind(self._backward_p, operands, params)
    function = functools.partial(rows.backward_by_reference, self.op, **params)
    return results, _tangents(function, operands, tangents)

  def _backward_batch(self, operands, axes, *, batch_rank, **params):
    batched = [
        jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes)
    ]
    results = _bind(
        self._backward_p, batched, dict(params, batch_rank=batch_rank + 1)
    )
    return results, [0] * len(results)


def _primitive(name, avals):
  primitive = jex_core.Primitive(name)
  primitive.multiple_results = True
  primitive.def_impl(functools.partial(xla.apply_primitive, primitive))
  primitive.def_abstract_eval(avals)
  return primitive


def _bind(primitive, operands, params):
  return primitive.bind(*sharding.vary_alike(operands), **params)


def _avals(shapes, dtypes, operands, layout):
  """Returns the types of results; all operands vary over the same axes."""
  split = sharding.explicit_split(layout, operands)
  mesh = sharding.explicit_mesh(operands) or operands[0].sharding.mesh
  return [
      operands[0].update(
          shape=shape,
          dtype=jnp.dtype(dtype),
          weak_type=False,
          sharding=jax.sharding.NamedSharding(mesh, layouts.spec(axes, split)),
      )
      for shape, dtype, axes in zip(shapes, dtypes, layout.results, strict=True)
  ]


def _tangents(function: Callable, operands, tangents):
  tangents = [ad.instantiate_zeros(t) for t in tangents]
  return list(jax.jvp(function, list(operands), tangents)[1])
