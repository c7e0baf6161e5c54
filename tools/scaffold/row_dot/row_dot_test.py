"""row_dot: its definition, and what every op has to do."""

from absl.testing import absltest

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from row_dot import row_dot


def _definition(x0, x1):
  terms = x0 * x1
  # The handler adds one term after the other.
  count = terms.shape[-1]
  return terms.sum(-1, additions=count)


class RowDotTest(testing.OpTest):
  case = Case(row_dot, [Operand((8,)), Operand((8,))], definition=_definition)


if __name__ == "__main__":
  absltest.main()
