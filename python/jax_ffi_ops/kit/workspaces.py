# SPDX-License-Identifier: Apache-2.0
"""Memory for partial sums of gradients that rows share, for CUDA handlers.

It is one more result of a backward handler for each operand of `row_sums`. A
handler may use no other memory: it would be freed after the call, and a CUDA
graph that replays the call would still use it.
"""

import math

import jax

from jax_ffi_ops.kit.backward import BackwardCall
from jax_ffi_ops.kit.dtypes import accumulator

# A part of fewer rows costs more than it gains; of more rows, it loses accuracy:
# the sum of 56 equal terms is off by 7 units in the last place at most.
_ROWS_PER_PART = 4
_MOST_ROWS_PER_PART = 56
# As many as a GPU works on at once; fewer of very wide ones.
_PARTS = 192
_PART_ELEMENTS = _PARTS * 32768


def workspaces(backward: BackwardCall) -> list[jax.core.ShapedArray]:
  """Returns the types of the workspaces of a backward call."""
  op = backward.call.op
  dtypes = {name: x.dtype for name, x in backward.arrays.items()}
  dtypes |= {name: dtype for name, (_, dtype) in backward.gradients.items()}
  return [
      jax.core.ShapedArray(
          _shape(backward, backward.gradients[name][0]),
          accumulator(dtypes[op.weights.get(name, op.operands[0])]),
      )
      for name in op.row_sums
      if name in backward.gradients
  ]


def _shape(backward, gradient):
  loops = math.prod(backward.dims.leading) * math.prod(backward.dims.trailing)
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
