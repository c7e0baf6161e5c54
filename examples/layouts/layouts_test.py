# SPDX-License-Identifier: Apache-2.0
"""XLA copies to the handler's layouts, unless the arrays have them."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax.experimental.layout import Format
from jax.experimental.layout import Layout
from layouts import COLUMN_MAJOR
from layouts import running_sums
import numpy as np


def _matrix(rows, columns):
  # Integers: their sums in float32 are exact.
  x = np.random.default_rng(0).integers(-9, 9, (rows, columns))
  return x.astype(np.float32)


def _copies(program):
  return program.as_text().count(" copy(")


class LayoutsTest(parameterized.TestCase):

  @parameterized.parameters((3, 4), (4, 3), (1, 7), (7, 1), (0, 3), (3, 0))
  def test_values(self, rows, columns):
    x = _matrix(rows, columns)
    expected = np.cumsum(x, 0)
    np.testing.assert_array_equal(running_sums(x), expected)
    np.testing.assert_array_equal(jax.jit(running_sums)(x), expected)

  def test_two_copies_by_default(self):
    program = jax.jit(running_sums).lower(_matrix(3, 4)).compile()
    self.assertEqual(_copies(program), 2)

  def test_none_where_the_caller_has_the_layout(self):
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    column_major = Format(Layout(COLUMN_MAJOR), device)
    x = _matrix(3, 4)
    program = (
        jax.jit(
            running_sums, in_shardings=column_major, out_shardings=column_major
        )
        .lower(x)
        .compile()
    )
    self.assertEqual(_copies(program), 0)
    # The values are those of any other array: a layout is not seen in JAX.
    y = program(jax.device_put(x, column_major))
    self.assertEqual(y.format.layout.major_to_minor, COLUMN_MAJOR)
    np.testing.assert_array_equal(y, np.cumsum(x, 0))

  def test_none_between_two_calls(self):
    twice = jax.jit(lambda x: running_sums(running_sums(x)))
    x = _matrix(3, 4)
    self.assertEqual(_copies(twice.lower(x).compile()), 2)
    np.testing.assert_array_equal(twice(x), np.cumsum(np.cumsum(x, 0), 0))

  @parameterized.parameters(
      (np.zeros((2, 3, 4), np.float32), "input_layouts|layout"),
      (np.zeros((3, 4), np.int32), "expected F32 but got S32"),
  )
  def test_refused(self, x, message):
    with self.assertRaisesRegex(
        (ValueError, jax.errors.JaxRuntimeError), message
    ):
      jax.block_until_ready(running_sums(x))

  def test_shapes_are_checked(self):
    other = jax.ffi.ffi_call(
        "example_running_sums", jax.ShapeDtypeStruct((4, 3), np.float32)
    )
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "y must have the shape of x"
    ):
      jax.block_until_ready(other(_matrix(3, 4)))


if __name__ == "__main__":
  absltest.main()
