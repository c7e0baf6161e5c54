# SPDX-License-Identifier: Apache-2.0
"""The gradients of rms_norm against their formulas in NumPy."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import rms_norm_oracle as oracle
from rms_norm_oracle import normal

from jax_ffi_ops import rms_norm

jax.config.update("jax_enable_x64", True)

_DTYPES = ("float16", "bfloat16", "float32", "float64")

# The backward kernel takes 4 rows at a time; the sum over rows is split in
# parts of 8 rows or more, at most 64 of them.
_SHAPES = (
    (0,),
    (3,),
    (65536,),
    (0, 3),
    (3, 0),
    (7, 1),
    (3, 1025),
    (15, 17),
    (16, 5),
    (4097, 33),
    (2, 0, 3),
    (3, 5, 4),
    (2, 3, 4, 1023),
)


def _gradient(x, scale, dy, eps=1e-6):
  def pull_back(x, scale, dy):
    return jax.vjp(lambda *args: rms_norm(*args, eps=eps), x, scale)[1](dy)

  return jax.jit(pull_back)(x, scale, dy)


class RmsNormGradTest(parameterized.TestCase):

  def check(self, x, scale, dy, eps=1e-6):
    dx, dscale = _gradient(x, scale, dy, eps)
    expected_dx, expected_dscale = oracle.gradient(x, scale, dy, eps)
    self.assertEqual(dx.dtype, x.dtype)
    expected_dx.check(dx)
    if scale is None:
      self.assertIsNone(dscale)
    else:
      self.assertEqual(dscale.dtype, scale.dtype)
      expected_dscale.check(dscale)

  @parameterized.parameters(
      itertools.product(_SHAPES, _DTYPES, (None, *_DTYPES))
  )
  def test_gradient(self, shape, dtype, scale_dtype):
    scale = scale_dtype and normal(shape[-1:], scale_dtype, seed=1)
    self.check(normal(shape, dtype), scale, normal(shape, dtype, seed=2))

  @parameterized.product(dtype=_DTYPES, eps=(0.0, 0.5, 1e5, np.inf))
  def test_eps(self, dtype, eps):
    x, dy = normal((6, 5), dtype), normal((6, 5), dtype, seed=2)
    self.check(x, x[0], dy, eps)

  @parameterized.parameters("bfloat16", "float32", "float64")
  def test_scale_gradient_of_very_many_rows(self, dtype):
    shape = (1_000_003, 2)
    x, dy = normal(shape, dtype), normal(shape, dtype, seed=2)
    self.check(x, normal((2,), dtype, seed=1), dy)

  @parameterized.parameters(*_DTYPES)
  def test_scale_gradient_without_rows_is_zero(self, dtype):
    x = jnp.zeros((0, 1000), "float32")
    _, dscale = _gradient(x, jnp.ones(1000, dtype), x)
    np.testing.assert_array_equal(dscale, np.zeros(1000))

  def test_grad_of_each_argument(self):
    x, scale = normal((6, 5), "float64"), normal((5,), "float64", seed=1)
    dx, dscale = oracle.gradient(x, scale, np.ones_like(x))

    def loss(x, scale):
      return rms_norm(x, scale).sum()

    dx.check(jax.grad(loss)(x, scale))
    dscale.check(jax.grad(loss, 1)(x, scale))
    dx, _ = oracle.gradient(x, None, np.ones_like(x))
    dx.check(jax.grad(lambda x: loss(x, None))(x))

  def test_checkpoint(self):
    x, scale = normal((6, 5), "float32"), normal((5,), "float32", seed=1)
    _, pull_back = jax.vjp(jax.checkpoint(rms_norm), x, scale)
    for expected, actual in zip(oracle.gradient(x, scale, x), pull_back(x)):
      expected.check(actual)

  def test_scan_over_rows(self):
    x, scale = normal((7, 5), "float32"), normal((5,), "float32", seed=1)

    @jax.jit
    def scanned(x, scale):
      return jax.lax.scan(lambda _, row: (None, rms_norm(row, scale)), None, x)[
          1
      ]

    y, pull_back = jax.vjp(scanned, x, scale)
    oracle.forward(x, scale).check(y)
    for expected, actual in zip(oracle.gradient(x, scale, x), pull_back(x)):
      expected.check(actual)

  def test_without_x64(self):
    x, scale = normal((6, 5), "float32"), normal((5,), "float32", seed=1)
    with jax.enable_x64(False):
      self.check(x, scale, x)

  def test_equals_plain_jax(self):
    x, scale = normal((9, 64), "float64"), normal((64,), "float64", seed=1)
    dy = normal((9, 64), "float64", seed=2)

    def plain(x, scale):
      mean = jnp.mean(x * x, axis=-1, keepdims=True)
      return x / jnp.sqrt(mean + 1e-6) * scale

    _, pull_back = jax.vjp(plain, x, scale)
    actual = _gradient(x, scale, dy)
    for ours, theirs in zip(actual, pull_back(dy)):
      np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


if __name__ == "__main__":
  absltest.main()
