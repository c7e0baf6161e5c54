"""row_dot: its definition, and what every op has to do."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from row_dot import row_dot


def _definition(x0, x1):
  return np.sum(x0 * x1, axis=-1)


class RowDotTest(testing.OpTest):
  case = Case(
      row_dot,
      [Operand((8,)), Operand((8,))],
      definition=_definition,
  )


if __name__ == "__main__":
  absltest.main()
