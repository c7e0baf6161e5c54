# SPDX-License-Identifier: Apache-2.0
"""The suite passes for sizes of all kinds, and for rules that call the op."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import numpy as np
import sized_ops

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _ones(*shape):
  return np.ones(shape, np.float32)


def _factors(rng, shape):
  return rng.uniform(-1, 1, shape)


def _calls(function, *operands):
  return str(jax.make_jaxpr(function)(*operands))


class CrossTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(sized_ops.cross, [Operand((3,)), Operand((3,))])


class RotateTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(sized_ops.rotate, [Operand((8,)), Operand((4,))])

  def test_linear_in_x_alone(self):
    x, angle = _ones(8), _ones(4)
    loss = lambda x, angle: sized_ops.rotate(x, angle).sum()
    by_x = _calls(jax.grad(loss, 0), x, angle)
    self.assertIn("transposed", by_x)
    self.assertNotIn("rotate_tangent", by_x)
    by_angle = _calls(jax.grad(loss, 1), x, angle)
    self.assertNotIn("transposed", by_angle)
    self.assertIn("rotate_bwd", by_angle)


class ShapesTest(parameterized.TestCase):

  @parameterized.parameters(
      (sized_ops.cross, (4,), (3,), r"a must have size 3 .*, got shape \(4,\)"),
      (sized_ops.cross, (3,), (2, 1), r"b must have size 3 .* shape \(2, 1\)"),
      (sized_ops.rotate, (7,), (3,), "x must have a multiple of 2 .* '2h'"),
      (sized_ops.rotate, (8,), (3,), "angle must have size 4 along 'h' as x"),
  )
  def test_refused(self, op, first, second, message):
    with self.assertRaisesRegex(ValueError, message):
      op(_ones(*first), _ones(*second))

  def test_symbolic(self):
    b, two_h = export.symbolic_shape("b, 2*h")
    x = jax.ShapeDtypeStruct((b, two_h), np.float32)
    angle = jax.ShapeDtypeStruct((two_h // 2,), np.float32)
    exported = export.export(
        jax.jit(sized_ops.rotate),
        disabled_checks=kit.export_checks(sized_ops.rotate),
    )(x, angle)
    self.assertEqual(exported.out_avals[0].shape, (b, two_h))
    got = exported.call(_ones(5, 8), _ones(4))
    np.testing.assert_array_equal(got, sized_ops.rotate(_ones(5, 8), _ones(4)))


class PowersTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(sized_ops.powers, [Operand()], attributes={"l_max": 1})


class PairsTest(testing.ConformanceTest, testing.HandlerTest):
  case = Case(sized_ops.pairs, [Operand((5,))])


class RecurrenceTest(testing.ConformanceTest):
  case = Case(
      sized_ops.recurrence,
      [Operand((4,), values=_factors), Operand((4,))],
      attributes={"reverse": True},
  )


class RecurrenceByRuleTest(testing.ConformanceTest):
  case = Case(
      sized_ops.recurrence_by_rule,
      [Operand((4,), values=_factors), Operand((4,))],
      attributes={"reverse": True},
  )


if __name__ == "__main__":
  absltest.main()
