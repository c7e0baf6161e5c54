# SPDX-License-Identifier: Apache-2.0
"""Memory for partial sums of gradients that rows share, for CUDA handlers.

It is one more result of a backward handler for each operand of `row_sums`. A
handler may use no other memory: it would be freed after the call, and a CUDA
graph that replays the call would still use it.
"""

from collections.abc import Mapping
import math
from typing import Any

import jax

from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.dtypes import accumulator

# Where XLA replays calls, and a handler's memory has to outlive them.
PLATFORMS = ("cuda",)

# A part of fewer rows costs more than it gains; of more rows, it loses accuracy:
# the sum of 56 equal terms is off by 7 units in the last place at most.
_ROWS_PER_PART = 4
_MOST_ROWS_PER_PART = 56
# As many as a GPU works on at once; fewer of very wide ones.
_PARTS = 192
_PART_ELEMENTS = _PARTS * 32768


def workspaces(
    op: Declaration, dims: Any, gradients: Mapping[str, Any],
    dtypes: Mapping[str, Any],
) -> dict[str, jax.core.ShapedArray]:  # fmt: skip
  """Returns the workspaces of a backward call.

  Args:
    op: the op.
    dims: the dimensions of the call.
    gradients: the types of its results, by the names of the operands.
    dtypes: of its arrays, and of these.
  """
  return {
      f"d{name}_workspace": jax.core.ShapedArray(
          _shape(dims, gradients[name].parts),
          accumulator(dtypes[op.weights.get(name, op.operands[0])]),
      )
      for name in op.row_sums
      if name in gradients
  }


def _shape(dims, gradient):
  loops = math.prod(dims.leading) * math.prod(dims.trailing)
  groups = (*gradient.leading, *gradient.trailing)
  cols = math.prod(gradient.core)
  sums = jax.core.max_dim(math.prod(groups), 1)
  rows = loops // sums
  most = jax.core.min_dim(
      _PARTS // sums, _PART_ELEMENTS // jax.core.max_dim(cols, 1)
  )
  most = jax.core.max_dim(most, rows // _MOST_ROWS_PER_PART)
  parts = 1 + jax.core.min_dim(rows // _ROWS_PER_PART, most)
  return (*groups, parts, cols)
