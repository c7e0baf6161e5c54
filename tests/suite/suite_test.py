# SPDX-License-Identifier: Apache-2.0
"""The conformance suite itself: how it is used, and how much it tolerates."""

import collections
import contextlib
import io
import os
import pathlib
import sys
import unittest

from absl.testing import absltest
from absl.testing import parameterized
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing.exactness import checks
from jax_ffi_ops.kit.testing.exactness.interval import Interval
import ops
import python_process


class SuiteTest(parameterized.TestCase):

  def test_no_test_hides_another(self):
    parts = testing.ConformanceTest.__bases__
    names = collections.Counter(
        name for part in parts for name in vars(part) if name[:2] != "__"
    )
    self.assertEmpty(
        [
            name
            for name, count in names.items()
            if count > 1 and not hasattr(absltest.TestCase, name)
        ]
    )

  def test_import_of_the_package_leaves_it_out(self):
    done = python_process.run(
        "-c",
        "import sys, jax_ffi_ops, jax_ffi_ops.kit as kit; sys.exit(any("
        "name.startswith(('absl', kit.__name__ + '.testing'))"
        " for name in sys.modules))",
    )
    self.assertEqual(done.returncode, 0, done.stderr)

  def test_import_after_the_first_use_of_jax(self):
    late = "import jax; jax.devices(); from jax_ffi_ops.kit import testing"
    self.assertIn(
        "needs 8 CPU devices, but JAX has been used",
        python_process.run("-c", late).stderr,
    )
    enough = f"import jax; jax.config.update('jax_num_cpu_devices', 8); {late}"
    self.assertEqual(python_process.run("-c", enough).returncode, 0)

  def test_module_of_a_package(self):
    """Other processes find the case where modules import each other."""
    folder = pathlib.Path(self.create_tempdir())
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "my_op.py").write_text("from ops import matvec\n")
    (package / "my_test.py").write_text(
        "from jax_ffi_ops.kit import testing\n"
        "from . import my_op\n"
        "class Test(testing.DeterminismTest):\n"
        "  case = testing.Case(\n"
        "      my_op.matvec, [testing.Operand((4, 8)), testing.Operand((8,))]\n"
        "  )\n"
    )
    done = python_process.run(
        *("-m", "unittest", "-k", "number_of_threads", "package.my_test"),
        JAX_FFI_OPS_THOROUGH_TESTS="1",
        PYTHONPATH=os.pathsep.join([str(folder), *sys.path]),
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("Ran 1 test", done.stderr)

  def test_class_without_a_case(self):
    class Test(testing.ValuesTest):
      pass

    result = unittest.TestResult()
    with contextlib.redirect_stderr(io.StringIO()) as said:
      Test("test_jit").run(result)
    problem = "Test needs the class attribute `case`"
    self.assertIn(problem, result.failures[0][1])
    self.assertIn(problem, said.getvalue())  # Not only at the end.

  def test_op_without_any_definition(self):
    case = testing.Case(ops.sort, [testing.Operand((4,), "float64")])
    with self.assertRaisesRegex(ValueError, "sort has no reference: give"):
      case.oracle  # pylint: disable=pointless-statement

  def test_one_test_says_that_there_is_no_reference(self):
    case = testing.Case(ops.sort, [testing.Operand((4,), "float64")])

    class Test(testing.ConformanceTest, testing.HandlerTest):
      pass

    Test.case = case
    result = unittest.TestResult()
    with contextlib.redirect_stderr(io.StringIO()):
      unittest.defaultTestLoader.loadTestsFromTestCase(Test).run(result)
    self.assertLen(result.errors, 1)
    self.assertEmpty(result.failures)
    self.assertLen(result.skipped, result.testsRun - 1)
    self.assertIn(
        "sort has no reference: give `reference=` to kit.op, or to the Case, a"
        " function of x in plain jax.numpy, or by jax.pure_callback.",
        result.errors[0][1],
    )

  def test_direct_calls_need_no_reference(self):
    case = testing.Case(
        ops.sort,
        [testing.Operand((4,), "float64")],
        definition=lambda x: Bounded(np.sort(x.value, -1), x.dtype),
    )
    test_class = type("Test", (testing.HandlerTest,), {"case": case})
    result = unittest.TestResult()
    test_class("test_handler_broadcasts").run(result)
    self.assertTrue(result.wasSuccessful(), result.errors + result.failures)
    self.assertEmpty(result.skipped)

  @parameterized.parameters((lambda x: x,), (lambda x: ops.matvec(x, x[0]) + 0
                            * ops.matvec(x, x[0]),))  # fmt: skip
  def test_function_that_does_not_call_one_op(self, function):
    case = testing.Case(function, [testing.Operand((4, 4))])
    with self.assertRaisesRegex(ValueError, "must call one op .* once, but"):
      case.op  # pylint: disable=pointless-statement

  @parameterized.parameters("float16", "bfloat16", "float32", "float64")
  def test_tolerance(self, dtype):
    """One unit in the last place is right, four are not."""
    expected = np.array([0.0, 1.0, -64.0])
    allowed = checks.tolerance(expected, dtype, terms=0)
    eps = float(jnp.finfo(dtype).eps)
    for units, right in ((1, True), (4, False)):
      actual = expected * (1 + units * eps)
      problem = checks.difference(
          _as(actual, dtype), expected, jnp.dtype(dtype), allowed
      )
      self.assertEqual(problem is None, right, problem)

  def test_difference(self):
    same = np.array([1.0, np.nan, np.inf, -np.inf])
    nothing = np.zeros(4)
    self.assertIsNone(checks.difference(same, same, same.dtype, nothing))
    for index, wrong in ((0, np.nan), (1, 1.0), (2, -np.inf), (3, 0.0)):
      actual = same.copy()
      actual[index] = wrong
      problem = checks.difference(actual, same, same.dtype, nothing + 1e9)
      self.assertRegex(problem, rf"at \[{index}\].*1 of 4 elements are wrong$")

  def test_what_is_not_finite_is_exact(self):
    expected = np.array([1.0, np.nan, np.inf, -np.inf])
    allowed = checks.tolerance(expected, np.dtype(np.float64), terms=4)
    self.assertIsNone(
        checks.difference(expected, expected, expected.dtype, allowed)
    )
    for index, wrong in ((1, 1.0), (2, 1e300), (2, np.nan), (3, np.inf)):
      actual = expected.copy()
      actual[index] = wrong
      problem = checks.difference(actual, expected, expected.dtype, allowed)
      self.assertRegex(problem, rf"at \[{index}\].*1 of 4 elements are wrong$")

  @parameterized.parameters(np.nan, np.inf)
  def test_tolerance_that_is_no_number(self, allowed):
    x = np.ones(2)
    with self.assertRaisesRegex(ValueError, "tolerance must be finite, got"):
      checks.difference(x, x, x.dtype, np.array([1.0, allowed]))

  def test_difference_says_which_element_is_the_first(self):
    actual = np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
    zeros = np.zeros_like(actual)
    message = r"at \[1, 1\].*; 2 of 6 elements are wrong, first at \[0, 2\]$"
    for allowed in (
        checks.Near(zeros, zeros.dtype, zeros + 0.5),
        Interval(zeros, zeros + 0.5, zeros.dtype),
    ):
      self.assertRegex(allowed.problem(actual), message)

  def test_integers_are_exact(self):
    expected = np.array([1, 2])
    allowed = checks.tolerance(expected, np.dtype(np.int32), terms=100)
    problem = checks.difference(
        np.array([1, 3], np.int32), expected, np.dtype(np.int32), allowed
    )
    self.assertIn("got 3, expected 2", problem)


def _as(values, dtype):
  return np.asarray(values).astype(jnp.dtype(dtype))


if __name__ == "__main__":
  absltest.main()
