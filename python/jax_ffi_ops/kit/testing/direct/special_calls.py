# SPDX-License-Identifier: Apache-2.0
"""Right direct calls with NaN, infinities, huge and subnormal numbers."""

from collections.abc import Iterator
import math

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing.direct import right_calls
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.expected import Definition
from jax_ffi_ops.kit.testing.direct.right_calls import Right


def special(target: Target, definition: Definition) -> Iterator[Right]:
  """Yields calls in which one operand has numbers that are not ordinary."""
  rows = _special_rows(np.float32, target.is_backward)
  for name in target.operands:
    right = right_calls.with_rows(target, definition, len(rows) + 2)
    x = right.arrays[name]
    if not jnp.issubdtype(x.dtype, jnp.floating) or not x.size:
      continue
    # Rows on both sides have to stay what they are.
    special_rows = _special_rows(x.dtype, target.is_backward)
    starred = target.call.op.axes[name][1]
    trailing = int(right.frame.attributes.get("trailing_rank", 0)) * starred
    columns = math.prod(x.shape[x.ndim - trailing :])
    for row, values in enumerate(special_rows, 1):
      flat = np.array(values, x.dtype)
      core = x[row].reshape(-1, columns)[:, 0]
      core[: flat.size] = flat[: core.size]
      if flat.size == 1 and np.isneginf(flat[0]):
        x[row] = flat[0]
    yield right._replace(label=f"special values of {name}: {right.label}")


def _special_rows(dtype, is_backward):
  info = jnp.finfo(dtype)
  largest, least = float(info.max), float(info.smallest_normal)
  huge = largest**0.75
  if is_backward:
    # A product that overflows, less another, is NaN, or infinite where the
    # compiler makes one instruction of product and difference.
    largest = huge
  nan, inf = np.nan, np.inf
  return (
      *([nan], [0, nan], [inf], [-inf, 1], [0, inf, -inf]),
      *([-inf], [largest], [0, -largest], [huge], [0, -huge, 1]),
      *([least / 4], [least / 4, 0, least], [-0.0, 0.0]),
  )
