# SPDX-License-Identifier: Apache-2.0
"""argpartition: its definition, for all kinds of keys and sizes."""

from absl.testing import absltest
from hypothesis import strategies
import jax
import numpy as np
import sorted_arrays

from jax_ffi_ops import argpartition
from jax_ffi_ops import kit
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


class ArgpartitionBitsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(testing.handlers_at_any_speed())

  def _check(self, x, kth, axis, y):
    y = np.asarray(y)
    label = f"{x.dtype}{x.shape}, kth={kth}, axis={axis}"
    self.assertEqual(y.dtype, np.int32, label)
    order = sorted_arrays.partition_order(x, kth, axis)
    np.testing.assert_array_equal(y, order, label)

  def test_bits(self):
    for dtype in kit.ORDERED:
      for xs, calls, ys in sorted_arrays.partitions(_argpartition, dtype):
        for (i, kth, axis), y in zip(calls, ys):
          self._check(xs[i], kth, axis, y)

  @sorted_arrays.many(strategies.floats(0, 1, exclude_max=True))
  def test_many(self, x, place):
    if x.size:
      kth = int(place * x.size)
      self._check(x, kth, 0, _argpartition(x, kth=kth))

  def test_hard_orders(self):
    for count in (1000, 200_000):
      for dtype in (np.int32, np.float64):
        for _, x in sorted_arrays.orders(count):
          x = x.astype(dtype)
          for kth in (0, count // 3, count - 1):
            self._check(x, kth, 0, argpartition(x, kth))


if __name__ == "__main__":
  absltest.main()
