# SPDX-License-Identifier: Apache-2.0
"""gae: its definition. Calls of the public function: recurrences_test."""

from absl.testing import absltest
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import gae
from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.exactness.rounding import gamma
from jax_ffi_ops.kit.testing.exactness.rounding import in_range


def _definition(rewards, discounts, values, lambda_):
  operands = rewards, discounts, values, lambda_
  r, d, v, own = (getattr(x, "value", x) for x in operands)
  shape = np.broadcast_shapes(
      r.shape, d.shape, v[..., 1:].shape, own[..., None].shape
  )
  r, d = np.broadcast_to(r, shape), np.broadcast_to(d, shape)
  advantages, sizes = np.empty_like(r), np.empty_like(r)
  last = size = 0
  with np.errstate(all="ignore"):
    for t in reversed(range(shape[-1])):
      after, factor = d[..., t] * v[..., t + 1], d[..., t] * own
      terms = r[..., t], after, -v[..., t], factor * last
      last = in_range(sum(terms), rewards.dtype)
      # How large the error is, divided by that of all roundings of a step.
      size = np.abs(factor) * size + sum(map(np.abs, terms))
      advantages[..., t], sizes[..., t] = last, size
  if not isinstance(rewards, Bounded):
    return advantages
  dtype = rewards.dtype
  tiny = jnp.finfo(dtype).smallest_normal
  # Three products and three sums.
  error = sizes * gamma(6, dtype) + (sizes > 0) * tiny * 4 * shape[-1]
  return Bounded(advantages, dtype, error)


def _below_one(rng, shape):
  return rng.uniform(-1, 1, shape)


class GaeTest(testing.OpTest):
  case = Case(
      kit.ops_of(gae)[0],
      [
          Operand((16,)),
          Operand((16,), values=_below_one),
          Operand((17,)),
          Operand(values=_below_one),
      ],
      definition=_definition,
      trailing=1,
  )


if __name__ == "__main__":
  absltest.main()
