# SPDX-License-Identifier: Apache-2.0
"""The primitive that stands for the backward handler.

Kept operands, residuals, cotangents -> cotangents of the operands.
"""

from collections.abc import Collection, Mapping, Sequence
import functools
from typing import Any

import jax
from jax.interpreters import ad
import jax.numpy as jnp

from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.primitives import batching
from jax_ffi_ops.kit.primitives import binding
from jax_ffi_ops.kit.primitives import derivatives
from jax_ffi_ops.kit.primitives import lowering
from jax_ffi_ops.kit.primitives import sharding
from jax_ffi_ops.kit.primitives import vjp


class BackwardPrimitive:
  """The backward primitive of one op."""

  def __init__(self, op: Declaration):
    self.primitive = binding.primitive(op.name + "_bwd", self._jvp, self._batch)
    self._library = op.library
    lowering.register(
        self.primitive,
        derivatives.backward,
        op.library,
        op.backward_platforms,
        calls_back=op.split is not None,
    )

  def gradients(
      self,
      forward: ForwardCall,
      operands: Sequence[Any],
      kept: Mapping[str, jax.Array],
      cotangents: Sequence[Any],
      transposed: bool = False,
      unwanted: Collection[str] = (),
  ) -> list[jax.Array | None]:
    """Returns the cotangents of all operands, None of those without any.

    Args:
      forward: the call of the op.
      operands: of that, or their avals.
      kept: its operands and results that are kept.
      cotangents: of its visible results that have tangents.
      transposed: see BackwardCall.
      unwanted: the operands whose cotangents may be None.
    """
    bind = functools.partial(binding.bind, self.primitive)
    cotangents = [ad.instantiate_zeros(c) for c in cotangents]
    found = vjp.vjp(
        forward, bind, operands, kept, cotangents, transposed, unwanted
    )
    return [
        sharding.like(found[name], binding.aval(x)) if name in found else None
        for name, x in zip(forward.op.operands, operands)
    ]

  def _jvp(self, operands, tangents, *, call):
    results = binding.bind(self.primitive, operands, call)
    function = functools.partial(derivatives.backward, call=call, higher=True)
    return results, binding.tangents(function, operands, tangents)

  def _batch(self, operands, axes, *, call):
    operands, axes = self._without_unread(operands, axes, call)
    axis = None
    if any(x is not None for x in axes):
      operands, call, axis = batching.backward(operands, axes, call)
    results = binding.bind(self.primitive, operands, call)
    return results, [axis] * len(results)

  def _without_unread(self, operands, axes, call):
    """Returns zeros for what the results do not depend on, and their axes.

    Only if nothing else has the batch: all examples have one gradient then.
    """
    mapped = {n for n, axis in zip(call.names, axes) if axis is not None}
    if not (mapped.issubset(call.kept) and mapped <= self._library.unread()):
      return operands, axes
    zeros = lambda x, axis: jnp.zeros(
        x.shape[:axis] + x.shape[axis + 1 :], x.dtype
    )
    pairs = zip(operands, axes)
    found = [x if axis is None else zeros(x, axis) for x, axis in pairs]
    return found, [None] * len(found)
