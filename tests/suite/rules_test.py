# SPDX-License-Identifier: Apache-2.0
"""An op without a reference: the suite tests the derivatives of its rules."""

import pathlib
import unittest

from absl.testing import absltest
import jax.numpy as jnp
import numpy as np

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
          derivatives=kit.Derivatives(jvp=_logaddexp_dot),
      ),
      [testing.Operand(), testing.Operand()],
      reference=jnp.logaddexp,
  )


def _cross_backward(a, b, dc):
  return jnp.cross(b, dc), jnp.cross(dc, a)


class BackwardRuleTest(testing.DerivativesTest, testing.SecondOrderTest):
  """With `backward=` alone, which takes all operands."""

  case = testing.Case(
      kit.op(
          "cross",
          library=_LIBRARY,
          signature="(3),(3)->(3)",
          operands=("a", "b"),
          outputs=("c",),
          dtypes=("float32",),
          derivatives=kit.Derivatives(backward=_cross_backward),
      ),
      [testing.Operand((3,)), testing.Operand((3,))],
      reference=jnp.cross,
  )


def _add_sin_backward(s, dy, ds):
  gradient = dy * jnp.cos(s) + ds
  return gradient, gradient


class BackwardRuleOfResultsTest(
    testing.DerivativesTest, testing.SecondOrderTest
):
  """With `backward=` alone, which takes a result in place of operands."""

  case = testing.Case(
      kit.op(
          "add_sin_by_rule",
          library=_LIBRARY,
          signature="(),()->(),()",
          operands=("a", "b"),
          outputs=("y", "s"),
          dtypes=("float32",),
          derivatives=kit.Derivatives(
              residuals=("s",), backward=_add_sin_backward
          ),
      ),
      [testing.Operand(), testing.Operand()],
      reference=lambda a, b: (jnp.sin(a + b), a + b),
  )


class TransposeRuleTest(testing.DerivativesTest, testing.SecondOrderTest):
  """With `transpose=` alone, of an op that is linear in its operand."""

  case = testing.Case(
      kit.op(
          "pairs",
          library=_LIBRARY,
          signature="(n)->(m)",
          operands=("x",),
          dtypes=("float32",),
          results=kit.Results(sizes={"m": lambda n: n // 2}),
          derivatives=kit.Derivatives(transpose=lambda dy: jnp.repeat(dy, 2)),
      ),
      [testing.Operand((8,))],
      reference=lambda x: x[0::2] + x[1::2],
  )


class WrongRuleTest(absltest.TestCase):
  """Rules that are wrong by a factor of 7."""

  def check(self, op, sizes, reference, tests, **attributes):
    """Fails unless each of some tests of derivatives says that it is off."""
    operands = [testing.Operand(core) for core in sizes]
    case = testing.Case(op, operands, attributes, reference=reference)
    test_class = type("Test", (testing.DerivativesTest,), {"case": case})
    for test in tests:
      with self.subTest(test):
        result = unittest.TestResult()
        test_class(test).run(result)
        self.assertLen(result.failures, 1, result.errors)
        self.assertIn("is off by", result.failures[0][1])

  def test_jvp(self):
    op = kit.op(
        "sound",
        library=_LIBRARY,
        signature="(n),(n)->(n)",
        operands=("x", "w"),
        outputs=("y",),
        dtypes=("float32",),
        derivatives=kit.Derivatives(
            jvp=lambda x, w, x_dot, w_dot: 7 * (x_dot * w + x * w_dot)
        ),
    )
    # Not of a vjp: the library has a backward handler, and that is right.
    tests = ("test_jvp", "test_jacobians")
    self.check(op, [(4,), (4,)], lambda x, w: x * w, tests)

  def test_backward(self):
    op = kit.op(
        "recurrence_by_rule",
        library=_LIBRARY,
        signature="(n),(n)->(n)",
        operands=("a", "b"),
        outputs=("h",),
        dtypes=("float32",),
        attributes={"reverse": np.bool_},
        derivatives=kit.Derivatives(
            residuals=("h",),
            backward=lambda a, h, dh, *, reverse: (0 * dh, 7 * dh),
        ),
    )
    tests = ("test_eager_vjp", "test_jvp", "test_jacobians")
    self.check(op, [(1,), (1,)], lambda a, b: b, tests, reverse=False)

  def test_transpose(self):
    op = kit.op(
        "cumsum",
        library=_LIBRARY,
        signature="(n,*)->(n,*)",
        operands=("x",),
        dtypes=("float32",),
        attributes={"reverse": np.bool_},
        derivatives=kit.Derivatives(
            transpose=lambda dy, *, reverse: 7 * jnp.cumsum(dy[::-1])[::-1]
        ),
    )
    # Not of a jvp: that is the op itself, since it is linear.
    tests = ("test_eager_vjp", "test_linearize_and_its_transpose")
    self.check(op, [(4,)], jnp.cumsum, tests, reverse=False)


if __name__ == "__main__":
  absltest.main()
