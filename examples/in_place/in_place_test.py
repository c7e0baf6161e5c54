# SPDX-License-Identifier: Apache-2.0
"""A donated array stays where it is; another one is copied."""

from absl.testing import absltest
from in_place import increment
import jax
import jax.numpy as jnp
import numpy as np


class InPlaceTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def test_donated(self):
    program = jax.jit(increment, donate_argnums=0)
    x = jnp.arange(1000, dtype=jnp.float32)
    before = x.unsafe_buffer_pointer()
    text = program.lower(x).compile().as_text()
    self.assertNotIn("copy(", text)
    y, address = program(x)
    self.assertEqual(int(address), before)
    self.assertEqual(y.unsafe_buffer_pointer(), before)
    self.assertTrue(x.is_deleted())
    np.testing.assert_array_equal(y, np.arange(1000) + 1)

  def test_not_donated(self):
    program = jax.jit(increment)
    x = jnp.arange(1000, dtype=jnp.float32)
    text = program.lower(x).compile().as_text()
    self.assertIn("copy(", text)
    y, address = program(x)
    self.assertNotEqual(int(address), x.unsafe_buffer_pointer())
    np.testing.assert_array_equal(x, np.arange(1000))
    np.testing.assert_array_equal(y, np.arange(1000) + 1)

  def test_needed_afterwards(self):
    """What the program itself reads again is copied, too."""

    def both(x):
      x = 2 * x
      y, _ = increment(x)
      return x, y

    x, y = jax.jit(both)(np.arange(5, dtype=np.float32))
    np.testing.assert_array_equal(x, 2 * np.arange(5))
    np.testing.assert_array_equal(y, 2 * np.arange(5) + 1)

  def test_without_the_alias(self):
    x = np.zeros(3, np.float32)
    results = [jax.ShapeDtypeStruct(s, d) for s, d in (((3,), np.float32), ((), np.int64))]  # fmt: skip
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "y must be in the memory of x"
    ):
      jax.block_until_ready(jax.ffi.ffi_call("example_increment", results)(x))

  def test_wrong_dtype(self):
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "x must have dtype float32, got int32"
    ):
      jax.block_until_ready(increment(np.zeros(3, np.int32)))


if __name__ == "__main__":
  absltest.main()
