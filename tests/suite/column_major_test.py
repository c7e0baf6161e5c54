# SPDX-License-Identifier: Apache-2.0
"""An op with column-major cores, as LAPACK has them: a sample of the suite.

more_ops_test.py has all of it.
"""

from absl.testing import absltest
import jax
import numpy as np

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
import ops


class MatMulTest(
    testing.ValuesTest, testing.BatchingTest, testing.DerivativesTest
):
  # Sizes of which none is another: no axis can be taken for another one.
  case = Case(ops.matmul, [Operand((3, 4)), Operand((4, 5))])

  def test_no_copies_between_handlers(self):
    """The second call reads what the first one has written."""
    function = jax.jit(lambda a, b, c: ops.matmul(ops.matmul(a, b), c))
    a, b, c = (np.ones((8, n, n + 1), np.float32) for n in (3, 4, 5))
    text = function.lower(a, b, c).compile().as_text()
    # Of the operands and of the result.
    self.assertLessEqual(text.count(" transpose(") + text.count(" copy("), 4)
    np.testing.assert_array_equal(function(a, b, c), a @ b @ c)


if __name__ == "__main__":
  absltest.main()
