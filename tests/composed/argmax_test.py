# SPDX-License-Identifier: Apache-2.0
"""argmax and argmin are those of jax.numpy."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import argmax
from jax_ffi_ops import argmin
from jax_ffi_ops import kit

_PAIRS = ((argmax, jnp.argmax), (argmin, jnp.argmin))


class ArgmaxTest(parameterized.TestCase):

  def _check(self, x, axis=None):
    for ours, plain in _PAIRS:
      y, expected = ours(x, axis), plain(x, axis)
      self.assertEqual(y.dtype, expected.dtype)
      np.testing.assert_array_equal(y, expected)

  @parameterized.parameters(*kit.ORDERED)
  def test_dtypes(self, dtype):
    x = np.random.default_rng(0).integers(0, 3, (8, 601))
    # The last one in the last block, which is not full.
    x[:4], x[:2, 600], x[2:4, 600] = 1, 0, 2
    x = x.astype(dtype)
    with jax.enable_x64(dtype.itemsize == 8):
      np.testing.assert_array_equal(argmax(x, -1), x.argmax(-1))
      np.testing.assert_array_equal(argmin(x, -1), x.argmin(-1))

  @parameterized.parameters(
      ((5, 0), 0), ((1,), 0), ((64, 64), 1), ((64, 64), 0), ((5, 70, 13), -2),
      ((4097,), None), ((3, 1500), None), ((1000, 5), 0),
  )  # fmt: skip
  def test_shapes(self, shape, axis):
    x = np.random.default_rng(0).integers(0, 3, shape)
    y = argmax(x, axis, keepdims=True)
    np.testing.assert_array_equal(y, x.argmax(axis, keepdims=True))

  def test_all_equal(self):
    for value in (-np.inf, np.inf, np.nan, 0.0):
      self.assertEqual(argmax(np.full(5000, value, np.float32)), 0)
      self.assertEqual(argmin(np.full(5000, value, np.float32)), 0)

  @parameterized.parameters((np.float32, -1), (jnp.bfloat16, 0))
  def test_what_compares_strangely(self, dtype, axis):
    x = np.random.default_rng(0).normal(size=(9, 9, 600))
    rows, cols = np.indices((9, 9))
    x[rows, cols, 100] = np.array((np.nan, np.inf, -np.inf))[cols % 3]
    x[rows, cols, 599] = np.array((np.nan, np.inf, -np.inf))[rows % 3]
    zeros = [0.0, -0.0, 1e-40, -1e-40]
    x[0, 0] = np.resize(zeros, 600)
    x[0, 1] = np.resize(zeros[::-1], 600)
    x[0, 2] = -np.nan
    self._check(jnp.asarray(np.moveaxis(x, -1, axis), dtype), axis)

  def test_transformations(self):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 40, 130)))
    for ours, plain in _PAIRS:
      for function in (
          lambda f: lambda x: f(x, 1),
          lambda f: jax.vmap(lambda x: f(x, 1), in_axes=2, out_axes=1),
          lambda f: jax.grad(lambda x: x.ravel()[f(x)] ** 2),
      ):
        # Without jit, each of their steps would be a program.
        found, expected = (jax.jit(function(f))(x) for f in (ours, plain))
        np.testing.assert_array_equal(found, expected)

  def test_wide_indices(self):
    with jax.enable_x64(True):
      self._check(np.arange(5000))

  @parameterized.parameters(
      (np.zeros((0, 3)),),
      (np.zeros(5000), 1),
      ([1, 2],),
      (np.zeros(5000), 0.5),
      (np.zeros(5000, complex),),
  )
  def test_errors(self, *args):
    for ours, plain in _PAIRS:
      with self.assertRaises((IndexError, TypeError, ValueError)) as expected:
        plain(*args)
      with self.assertRaises(type(expected.exception)) as found:
        ours(*args)
      self.assertEqual(str(found.exception), str(expected.exception))

  def test_out(self):
    with self.assertRaises(NotImplementedError):
      argmax(np.zeros(5000), out=np.zeros(()))


if __name__ == "__main__":
  absltest.main()
