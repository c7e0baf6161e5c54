# SPDX-License-Identifier: Apache-2.0
"""partition: its definition, for all kinds of keys and sizes."""

from absl.testing import absltest
import jax
import numpy as np
import sorted_arrays

from jax_ffi_ops import partition
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.ops.partition import _partition


def _definition(x, *, kth):
  order = sorted_arrays.partition_order(sorted_arrays.plain(x), kth, -1)
  if not isinstance(x, Bounded):
    return np.take_along_axis(x, order, -1)
  return sorted_arrays.kept(x, np.take_along_axis(x.value, order, -1))


class PartitionTest(testing.OpTest):
  case = Case(
      _partition,
      [Operand((16,))],
      attributes={"kth": 5},
      definition=_definition,
      trailing=1,
  )


class PartitionBitsTest(sorted_arrays.PartitionTestCase):
  op = _partition
  function = staticmethod(partition)

  def check(self, x, order, axis, y, label):
    self.assertEqual(y.dtype, x.dtype, label)
    bits = lambda x: x.view(sorted_arrays.unsigned(x.dtype))
    expected = np.take_along_axis(x, order, axis)
    np.testing.assert_array_equal(bits(y), bits(expected), label)

  def test_gradients(self):
    """What comes back goes where the elements came from, through ties too."""
    x = np.array([1.0, 0.0, 1.0, -0.0, np.nan, 1.0, 3.0], np.float32)
    y_bar = np.arange(7, dtype=np.float32)
    order = sorted_arrays.partition_order(x, 2, 0)
    f = lambda x: partition(x, 2)
    found = jax.jvp(f, (x,), (y_bar,))[1]
    np.testing.assert_array_equal(found, y_bar[order])
    np.testing.assert_array_equal(jax.vjp(f, x)[1](y_bar)[0][order], y_bar)


if __name__ == "__main__":
  absltest.main()
