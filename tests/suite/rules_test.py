# SPDX-License-Identifier: Apache-2.0
"""An op without a reference: the suite tests the derivatives of its rules."""

import pathlib
import unittest

from absl.testing import absltest
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing

# Those of ops.py, which declares an op for each: this process does not.
_LIBRARY = kit.Library(
    pathlib.Path(__file__).with_name("libhandlers_ext.so"), prefix="test_"
)


def _logaddexp_dot(x, y, z, x_dot, y_dot):
  return x_dot * jnp.exp(x - z) + y_dot * jnp.exp(y - z)


class RuleTest(testing.ConformanceTest):
  """As the author of a library in C declares it: a handler, and a rule."""

  case = testing.Case(
      kit.op(
          "logaddexp",
          library=_LIBRARY,
          signature="(),()->()",
          operands=("x", "y"),
          outputs=("z",),
          dtypes=("float32",),
          jvp=_logaddexp_dot,
      ),
      [testing.Operand(), testing.Operand()],
      reference=jnp.logaddexp,
  )


class WrongRuleTest(absltest.TestCase):

  def test_rule_is_wrong_by_a_factor(self):
    op = kit.op(
        "sound",
        library=_LIBRARY,
        signature="(n),(n)->(n)",
        operands=("x", "w"),
        outputs=("y",),
        dtypes=("float32",),
        jvp=lambda x, w, x_dot, w_dot: 7 * (x_dot * w + x * w_dot),
    )
    case = testing.Case(
        op,
        [testing.Operand((4,)), testing.Operand((4,))],
        reference=lambda x, w: x * w,
    )
    test_class = type("Test", (testing.DerivativesTest,), {"case": case})
    # Not of a vjp: the library has a backward handler, and that is right.
    for test in ("test_jvp", "test_jacobians"):
      with self.subTest(test):
        result = unittest.TestResult()
        test_class(test).run(result)
        self.assertLen(result.failures, 1, result.errors)
        self.assertIn("is off by", result.failures[0][1])


if __name__ == "__main__":
  absltest.main()
