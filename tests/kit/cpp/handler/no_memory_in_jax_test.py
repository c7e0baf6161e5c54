# SPDX-License-Identifier: Apache-2.0
"""Allocations of a call fail, on XLA's own thread pool: a result or an error."""

from absl.testing import absltest
import handlers
import jax
import numpy as np

handlers.register("handler/no_memory_ext", "kit_test_no_memory")

_ALL = 2**62


def _call(first, last):
  x = np.arange(500, dtype=np.float32)
  result = jax.ffi.ffi_call(
      "kit_test_no_memory", jax.ShapeDtypeStruct(x.shape, x.dtype)
  )(x, first=np.int64(first), last=np.int64(last))
  np.testing.assert_array_equal(result, x + 1)


class NoMemoryTest(absltest.TestCase):

  def test_each_allocation(self):
    _call(_ALL, _ALL)
    outcomes = set()
    for first in range(12):
      for last in (first, _ALL):
        for _ in range(5):
          try:
            _call(first, last)
            outcomes.add("result")
          except jax.errors.JaxRuntimeError as error:
            self.assertIn("INTERNAL", str(error))
            self.assertIn("out of memory", str(error))
            outcomes.add("error")
          _call(_ALL, _ALL)
    self.assertEqual({"result", "error"}, outcomes)


if __name__ == "__main__":
  absltest.main()
