# SPDX-License-Identifier: Apache-2.0
"""argpartition: its definition, for all kinds of keys and sizes."""

from absl.testing import absltest
import numpy as np
import sorted_arrays

from jax_ffi_ops import argpartition
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.ops.argpartition import _argpartition


def _definition(x, *, kth):
  return sorted_arrays.partition_order(sorted_arrays.plain(x), kth, -1).astype(
      np.int32
  )


class ArgpartitionTest(testing.OpTest):
  case = Case(
      _argpartition,
      [Operand((16,))],
      attributes={"kth": 5},
      definition=_definition,
      trailing=1,
  )


class ArgpartitionBitsTest(sorted_arrays.PartitionTestCase):
  op = _argpartition
  function = staticmethod(argpartition)

  def check(self, x, order, axis, y, label):
    self.assertEqual(y.dtype, np.int32, label)
    np.testing.assert_array_equal(y, order, label)


if __name__ == "__main__":
  absltest.main()
