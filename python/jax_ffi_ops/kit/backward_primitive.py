# SPDX-License-Identifier: Apache-2.0
"""The primitive that stands for the backward handler.

Kept operands, residuals, cotangents -> cotangents of the operands.
"""

import functools

import jax
from jax.interpreters import ad
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
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.workspaces import workspaces


class BackwardPrimitive:
  """The backward primitive of one op."""

  def __init__(self, op: Declaration):
    self.op = op
    self.primitive = binding.primitive(
        op.name + "_bwd", self._avals, self._jvp, self._batch
    )
    handler = lowering.Handler(
        op.library,
        op.backward_target,
        op.backward_platforms,
        lambda platform, avals, **params: backward_choice(
            platform, self._call(avals, **params)
        ),
        lambda avals, **params: workspaces(self._call(avals, **params)),
        in_full=self._in_full if op.broadcast_operands else None,
    )
    lowering.register(self.primitive, self._layout, self._function, handler)

  def gradients(
      self, params, operands, kept, cotangents
  ) -> list[jax.Array | None]:
    """Returns the cotangents of all operands, None of those without any.

    Args:
      params: of the forward call.
      operands: of that, or their avals.
      kept: what is kept of it, by name.
      cotangents: of its visible results.
    """

    def bind(*arrays, batch_rank, info):
      own = dict(params, batch_rank=batch_rank, info=info)
      return binding.bind(self.primitive, arrays, own)

    call = Call.of(self.op, params)
    cotangents = [ad.instantiate_zeros(c) for c in cotangents]
    found = backwards.vjp(call, bind, operands, kept, cotangents)
    return [
        sharding.like(found[name], binding.aval(x)) if name in found else None
        for name, x in zip(call.op.operands, operands)
    ]

  def _call(self, operands, *, batch_rank, info, **params):
    return BackwardCall.of(Call.of(self.op, params), operands, batch_rank, info)

  def _layout(self, operands, **params):
    return layouts.backward_layout(self._call(operands, **params))

  def _avals(self, *operands, **params):
    call = self._call(operands, **params)
    return binding.avals(
        list(call.gradients.values()),
        operands,
        lambda: layouts.backward_layout(call),
    )

  def _in_full(self, avals, **params):
    backward = self._call(avals, **params)
    dims, axes = backward.dims, backward.call.op.axes
    full = dims.all_full([axes[name][1] for name in backward.arrays])
    if dims.arrays == full and not backward.shared:
      return None
    info = params["info"].without_shared()
    own = dict(params, batch_rank=len(dims.leading), info=info)

    def call(*operands):
      operands = map(looping.fill, operands, dims.arrays, full)
      return [
          looping.sum_to(x, dims.full(parts.core, axes[name][1]), parts)
          for x, (name, (parts, _)) in zip(
              self.primitive.bind(*operands, **own), backward.gradients.items()
          )
      ]

    return call

  def _function(self, *operands, batch_rank, info, higher=False, **params):
    return derivatives.backward(
        Call.of(self.op, params),
        *operands,
        batch_rank=batch_rank,
        info=info,
        higher=higher,
    )

  def _jvp(self, operands, tangents, **params):
    results = binding.bind(self.primitive, operands, params)
    function = functools.partial(self._function, higher=True, **params)
    return results, binding.tangents(function, operands, tangents)

  def _batch(self, operands, axes, *, batch_rank, **params):
    batched = [
        jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes)
    ]
    results = binding.bind(
        self.primitive, batched, dict(params, batch_rank=batch_rank + 1)
    )
    return results, [0] * len(results)
