# SPDX-License-Identifier: Apache-2.0
"""Whether a call runs its handler or the reference, and why."""

import jax

from jax_ffi_ops.kit.backward import BackwardCall
from jax_ffi_ops.kit.calls import Call
from jax_ffi_ops.kit.declaration import plain
from jax_ffi_ops.kit.dtypes import unserved_weight


def forward_choice(platform: str, call: Call, operands) -> str | None:
  """Returns why a call does not run its handler, or None if it does."""
  named = dict(zip(call.op.operands, operands, strict=True))
  dtypes = {name: x.dtype for name, x in named.items()}
  return _choice(platform, call, call.dimensions(named), dtypes)


def backward_choice(platform: str, backward: BackwardCall) -> str | None:
  """As `forward_choice`, for its backward call: they decide alike."""
  call = backward.call
  dtypes = {name: dtype for name, (_, dtype) in backward.gradients.items()}
  dtypes |= {name: x.dtype for name, x in backward.arrays.items()}
  return _choice(platform, call, backward.dims, dtypes)


def _choice(platform, call, dims, dtypes):
  op = call.op
  problem = unserved_weight(op.weights, dtypes)
  if problem is not None or op.use_handler is None:
    return problem
  # With all loop dimensions, also where rows share an operand: what a backward
  # call knows too.
  avals = {
      name: jax.ShapeDtypeStruct(
          dims.full(call.core(name, dims.sizes), op.axes[name][1]).shape,
          dtypes[name],
      )
      for name in op.operands
  }
  sizes = (size for x in avals.values() for size in x.shape)
  if not all(isinstance(size, int) for size in sizes):
    return None  # Symbolic.
  chosen = op.use_handler(
      *map(avals.get, op.slots), platform=platform, **plain(call.attributes)
  )
  return None if chosen else "`use_handler` says so"
