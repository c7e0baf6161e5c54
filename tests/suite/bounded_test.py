# SPDX-License-Identifier: Apache-2.0
"""Numbers that know their error: what the suite takes for exact is exact."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from jax_ffi_ops.kit.testing.bounded import Bounded


class BoundedTest(parameterized.TestCase):

  @parameterized.product(
      dtype=(np.float32, np.float64), ufunc=(np.add, np.subtract)
  )
  def test_sum_of_two_is_rounded_once(self, dtype, ufunc):
    x, y = np.random.default_rng(0).normal(size=(2, 100_000)).astype(dtype)
    # One sum in 4000 differs where a sum of long doubles is rounded once more.
    y *= dtype(2.0**-20)
    found = ufunc(Bounded.load(x, dtype), Bounded.load(y, dtype))
    np.testing.assert_array_equal(found.value, ufunc(x, y))
    np.testing.assert_array_equal(found.error, 0)


if __name__ == "__main__":
  absltest.main()
