# SPDX-License-Identifier: Apache-2.0
"""The primitive that stands for the backward handler.

Kept operands, residuals, cotangents -> cotangents of the operands.
"""

from collections.abc import Collection, Mapping, Sequence
import functools
from typing import Any

import jax
from jax.interpreters import ad

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
    operands, call, axis = batching.backward(operands, axes, call)
    results = binding.bind(self.primitive, operands, call)
    return results, [axis] * len(results)
