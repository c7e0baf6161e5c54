# SPDX-License-Identifier: Apache-2.0
"""permutation has the bits of jax.random.permutation."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import permutation


def _is_known(kind):
  try:
    jax.random.key(0, impl=kind)
  except ValueError:
    return False
  return True


# The last three came with jax 0.10.
_KINDS = [
    kind
    for kind in (
        "threefry2x32",
        "rbg",
        "unsafe_rbg",
        "threefry4x32",
        "philox2x32",
        "philox4x32",
    )
    if _is_known(kind)
]


class PermutationTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))
    self.key = jax.random.key(3)

  def _check(self, key, x, *args):
    expected = jax.random.permutation(key, x, *args)
    for function in (permutation, jax.jit(permutation, static_argnums=(2, 3))):
      if function is not permutation and not np.ndim(x):
        continue  # Under jit, it would be traced.
      y = function(key, x, *args)
      self.assertEqual(y.dtype, expected.dtype)
      np.testing.assert_array_equal(y, expected)

  # Sorted once from 2 elements on, twice from 1626.
  @parameterized.parameters(0, 1, 2, 1625, 1626)
  def test_numbers(self, n):
    self._check(self.key, n)

  def test_scalar_of_numpy(self):
    self._check(self.key, np.int64(5))

  @parameterized.parameters(np.float16, np.complex64, bool)
  def test_vector(self, dtype):
    self._check(self.key, np.arange(2000).astype(dtype))

  @parameterized.product(axis=(1, -1), independent=(False, True))
  def test_axes(self, axis, independent):
    x = np.arange(60 * 50 * 2).reshape(60, 50, 2)
    self._check(self.key, x, axis, independent)

  @parameterized.parameters(*_KINDS)
  def test_kinds_of_keys(self, kind):
    self._check(jax.random.key(5, impl=kind), 3000)
    with jax.default_prng_impl(kind):
      self._check(jax.random.PRNGKey(5), 3000)

  @parameterized.product(
      dtype=(np.float16, jnp.bfloat16), independent=(False, True)
  )
  def test_bits(self, dtype, independent):
    """Elements keep all their bits. Up to 0.11.1, jax's NaNs of bfloat16 do not."""
    bits = np.arange(2**16, dtype=np.uint16).reshape(2**13, 8)
    for shape in ((2**13, 8), (2**16,), (2**16, 1)):
      x = bits.reshape(shape)
      y = permutation(self.key, x.view(dtype), 0, independent)
      want = jax.random.permutation(self.key, x, 0, independent)
      np.testing.assert_array_equal(np.asarray(y).view(np.uint16), want)

  def test_wide_integers(self):
    with jax.enable_x64(True):
      self._check(self.key, 2000)

  def test_gradient(self):
    x, weights = jnp.arange(9.0), jnp.arange(9.0) ** 2
    for function in (permutation, jax.random.permutation):
      loss = lambda x, f=function: jnp.vdot(weights, f(self.key, x))
      with self.subTest(str(function)):
        order = jax.random.permutation(self.key, 9)
        expected = np.zeros(9)
        expected[order] = weights
        np.testing.assert_array_equal(jax.grad(loss)(x), expected)

  def test_vmap(self):
    keys = jax.random.split(self.key, 3)
    y = jax.vmap(lambda key: permutation(key, 2000))(keys)
    expected = [jax.random.permutation(key, 2000) for key in keys]
    np.testing.assert_array_equal(y, expected)

  @parameterized.parameters(
      (1.5,), (np.float32(3),), ("a",), (np.arange(3), 1), (True,)
  )
  def test_errors(self, *args):
    with self.assertRaises((TypeError, ValueError)) as expected:
      jax.random.permutation(self.key, *args)
    with self.assertRaises(type(expected.exception)) as found:
      permutation(self.key, *args)
    self.assertEqual(str(found.exception), str(expected.exception))

  def test_wrong_keys(self):
    for key in (jax.random.split(self.key), 3):
      with self.assertRaises((TypeError, ValueError)) as expected:
        jax.random.permutation(key, 3)
      with self.assertRaises(type(expected.exception)):
        permutation(key, 3)


if __name__ == "__main__":
  absltest.main()
