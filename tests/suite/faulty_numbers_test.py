# SPDX-License-Identifier: Apache-2.0
"""The suite finds what is wrong for some sizes, rows, values or times only."""

import unittest

from absl.testing import absltest
from absl.testing import parameterized
import faulty_rows

from jax_ffi_ops.kit import testing


def _failures(name, test):
  """Runs a test that every op has; returns what it says."""
  case = faulty_rows.rows(f"test_{name}")
  test_class = type("Test", (testing.OpTest,), {"case": case})
  result = unittest.TestResult()
  test_class(test).run(result)
  assert not result.errors, result.errors[0][1]
  return [text.splitlines()[-1] for _, text in result.failures]


class SoundTest(
    testing.ValuesTest, testing.HandlerTest, testing.DeterminismTest
):
  """Without a fault, nothing of the below is said."""

  case = faulty_rows.rows("test_rows_sound")


class FaultyNumbersTest(parameterized.TestCase):

  @parameterized.parameters(
      (
          "skips_last_pair",
          "test_handler_of_every_dtype",
          r"_fwd with x\[7, 32\], w\[7, 32\] .*: y is wrong at \[0, 30\]: got nan",
      ),
      (
          "mixes_up_late_ranges",
          "test_handler_of_many_ranges",
          r"_fwd with x\[10\d{5}, 4\].*: total is wrong at",
      ),
      (
          "keeps_first_result",
          "test_eager",
          "an eager call again, with other values: the result is off by",
      ),
      (
          "keeps_first_result",
          "test_jit",
          "jit again, with other values: the result is off by",
      ),
      (
          "reads_beyond",
          "test_handler_of_every_dtype",
          r"_fwd with x\[7, 1\].*: total is wrong at \[6\]: got nan",
      ),
      (
          "writes_beyond",
          "test_handler_of_every_dtype",
          r"_fwd with x\[7, 1\].*: it writes behind y",
      ),
      (
          "ignores_sign",
          "test_handler_of_other_attributes",
          "_fwd with .*: y is wrong at",
      ),
      (
          "late_wide_rows",
          "test_handler_of_wide_rows",
          r"_fwd with x\[71, 64\].*: y is wrong at",
      ),
      (
          "shared_wide",
          "test_handler_of_wide_rows",
          r"_fwd with x\[2, 71, 64\], w\[64\].*: y is wrong at",
      ),
      (
          "usual_factor",
          "test_handler_of_other_attributes",
          r"_fwd with .*\(float32; \{'factor': 1\.39.*: y is wrong at",
      ),
      (
          "adds_in_half",
          "test_handler_of_every_dtype",
          r"_fwd with x\[7, \d+\].*: total is wrong at",
      ),
      (
          "repeats_statistics",
          "test_handler_of_many_rows",
          r"_fwd with x\[\d+, 4\].*: total is wrong at",
      ),
      (
          "one_loop_only",
          "test_eager",
          "an eager call: the result is off by",
      ),
      (
          "depends_on_order",
          "test_same_bits_in_every_run",
          "jit of many rows, run again: array 0 differs",
      ),
      (
          "ignores_nan",
          "test_handler_of_special_values",
          r"_fwd with special values of x: .*: y is wrong at .*: got 0, expected"
          " nan",
      ),
      (
          "loads_aligned",
          "test_handler_of_operands_that_begin_anywhere",
          "_fwd with buffers that begin 1 elements after an aligned address"
          r" .*: it ends the process by (SIGSEGV|exit\(1\))",
      ),
  )
  def test_numbers(self, name, test, message):
    failures = _failures(name, test)
    self.assertLen(failures, 1)
    self.assertRegex(failures[0], message)


if __name__ == "__main__":
  absltest.main()
