# SPDX-License-Identifier: Apache-2.0
"""A row has the same bits if threads share it, and if a call has many rows.

This is so on a CPU.
"""

import dataclasses
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["NPROC"] = "8"  # Threads of XLA's pool.

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
from own_case import own_case

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import choices
from jax_ffi_ops.kit.testing.cases import transforms

# Columns and rows: of so many long rows, threads share none. The other call is
# larger than caches, and runs other code.
_SIZES = (70_001, 16), (1_030, 4_100)


class LongRowsTest(parameterized.TestCase):

  @parameterized.product(
      op=("rms_norm", "layer_norm", "add_rms_norm", "softmax"),
      dtype=("float32", "bfloat16", "float16"),
      size=_SIZES,
  )
  def test_bits(self, op, dtype, size):
    cols, rows = size
    case = choices.resized(own_case(op), ("d",), cols)
    slots = [dataclasses.replace(x, dtype=dtype) for x in case.slots]
    case = dataclasses.replace(case, slots=slots)
    operands = case.arrays((1,))
    args = (operands, case.cotangents(operands))
    with kit.using("handler if served"):
      one = jax.jit(transforms.vjp(case))(*args)
      each = lambda x: np.broadcast_to(x, (rows, *np.shape(x)))
      many = jax.jit(jax.vmap(transforms.vjp(case)))(*jax.tree.map(each, args))
    for x, xs in zip(jax.tree.leaves(one), jax.tree.leaves(many), strict=True):
      self.assertGreater(np.size(np.unique(np.asarray(x, np.float32))), 99)
      for row in np.asarray(xs):
        self.assertEqual(row.tobytes(), np.asarray(x).tobytes())


if __name__ == "__main__":
  absltest.main()
