# SPDX-License-Identifier: Apache-2.0
"""Whether a call runs its handler or the reference, and why."""

from collections.abc import Mapping
from typing import Any

import jax

from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.dtypes import unserved_weight


def declined(
    platform: str, call: Any, dims: Dimensions, dtypes: Mapping[str, Any]
) -> str | None:
  """Returns why a call does not run its handler, or None if it does.

  Args:
    platform: "cpu" or "cuda".
    call: the forward call.
    dims: of that, or of its backward call.
    dtypes: of the operands, at least.
  """
  op = call.op
  problem = unserved_weight(op.weights, dtypes)
  if problem is not None or op.use_handler is None:
    return problem
  # Each operand gets all loop dimensions, even one that rows share: a backward
  # call does not know which loop dimensions a forward operand had.
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
      *map(avals.get, op.slots), platform=platform, **call.attributes.plain
  )
  return None if chosen else "`use_handler` says so"
