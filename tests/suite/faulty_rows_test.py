# SPDX-License-Identifier: Apache-2.0
"""Generated tests of handlers find what is wrong, and say what it is."""

import dataclasses
import os
import unittest

from absl.testing import absltest
from absl.testing import parameterized
import faulty_rows
import numpy as np

from jax_ffi_ops.kit import testing
import python_process


def _failures(case, test):
  """Runs one of the generated tests; returns what it says."""
  test_class = type("Test", (testing.HandlerTest,), {"case": case})
  result = unittest.TestResult()
  test_class(test).run(result)
  found = result.failures + result.errors
  return [text.splitlines()[-1] for _, text in found]


class SoundTest(testing.HandlerTest):
  """Without a fault, nothing of the below is said."""

  case = faulty_rows.rows("test_rows_sound")


class SoundTrailingTest(testing.HandlerTest):
  case = faulty_rows.trailing("test_trailing_sound")


class FaultyRowsTest(parameterized.TestCase):

  @parameterized.parameters(
      (
          "skips_range_start",
          "test_handler_of_many_rows",
          r"skips_range_start_fwd with x\[32771, 4\].*: y is wrong at",
      ),
      (
          "ignores_attribute",
          "test_handler_refuses_attribute_types",
          r"ignores_attribute_fwd takes factor .*: the handler has to refuse",
      ),
      (
          "wrong_residual",
          "test_handler_broadcasts",
          r"wrong_residual_fwd with .*: total is wrong at",
      ),
      (
          "ignores_present",
          "test_handler_refuses_attribute_values",
          r"ignores_present_fwd takes present .*: the handler has to refuse",
      ),
      (
          "unchecked_dimension",
          "test_handler_refuses_shapes",
          r"unchecked_dimension_fwd takes \w of shape .*: the handler has to",
      ),
      (
          "aborts",
          "test_handler_refuses_dtypes",
          r"aborts_fwd with y of dtype \w+ ends the process by SIGABRT: the ha",
      ),
  )
  def test_rows(self, name, test, message):
    self.check(faulty_rows.rows(f"test_{name}"), test, message)

  @parameterized.parameters(
      ("mixes_up_trailing", "broadcasts", r".*"),
      ("many_columns", "of_wide_rows", r"x\[7, 64, 1025\]"),
      ("eight_columns", "of_wide_rows", r"x\[7, 64, 8\]"),
      ("columns_of_vectors", "of_every_dtype", r"x\[7, 32, 3\]"),
  )
  def test_trailing(self, name, test, shape):
    self.check(
        faulty_rows.trailing(f"test_{name}"),
        f"test_handler_{test}",
        f"{name}_fwd with {shape}.*: y is ",
    )

  def test_a_definition_that_fails_for_empty_cores(self):
    case = faulty_rows.rows("test_rows_sound")

    def fails(x, w, *, factor):
      if not x.shape[-1]:
        raise ValueError("no numbers")
      return factor * x * (1 if w is None else w), x.sum(-1)

    case = dataclasses.replace(case, definition=fails)
    test = "test_handler_of_empty_cores"
    self.check(case, test, "The definition fails for cores of .*empty_cores=F")
    case = dataclasses.replace(case, empty_cores=False)
    self.assertEmpty(_failures(case, test))

  def test_a_definition_that_returns_a_list(self):
    sound = faulty_rows.rows("test_rows_sound")
    in_list = lambda x, w, *, factor: list(
        sound.definition(x, w, factor=factor)
    )
    case = dataclasses.replace(sound, definition=in_list)
    self.assertEmpty(_failures(case, "test_handler_broadcasts"))

  def test_a_definition_that_lacks_a_result(self):
    case = dataclasses.replace(
        faulty_rows.rows("test_rows_sound"),
        definition=lambda x, w, *, factor: factor * x,
    )
    self.check(
        case,
        "test_handler_broadcasts",
        r"rows_sound_fwd: the author's definition returns 1 arrays, not 2 "
        r"\(y, total\)",
    )

  def test_a_definition_that_fails_for_all_cores(self):
    case = faulty_rows.rows("test_rows_sound")
    case = dataclasses.replace(
        case, definition=lambda x, w, *, factor: (factor * x, np.mean(x))
    )
    (failure,) = _failures(case, "test_handler_of_empty_cores")
    self.assertStartsWith(failure, "TypeError: sum, mean and max need one axis")

  def test_crash_for_no_columns(self):
    """A crash ends the process; which test it was is said before."""
    test = "test_handler_of_empty_cores"
    program = (
        f"import faulthandler, faulty_rows, faulty_rows_test as tests\n"
        f"faulthandler.enable()\n"
        f"tests._failures(faulty_rows.rows('test_divides_by_columns'), {test!r})"
    )
    done = python_process.run("-c", program)
    self.assertNotEqual(done.returncode, 0)
    if (
        os.environ.get("SANITIZER") == "undefined"
    ):  # Ends it before Python does.
      self.assertIn("division by zero", done.stderr)
    else:
      self.assertRegex(done.stderr, rf"Fatal Python error(.|\n)*in {test}")

  def check(self, case, test, message):
    failures = _failures(case, test)
    self.assertLen(failures, 1)
    self.assertRegex(failures[0], message)


if __name__ == "__main__":
  absltest.main()
