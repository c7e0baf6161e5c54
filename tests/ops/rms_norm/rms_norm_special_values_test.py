# SPDX-License-Identifier: Apache-2.0
"""rms_norm of NaN, infinities, signed zeros, huge and subnormal numbers."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import rms_norm_oracle as oracle

from jax_ffi_ops import rms_norm

jax.config.update("jax_enable_x64", True)

_DTYPES = ("float16", "bfloat16", "float32", "float64")
_INF, _NAN = np.inf, np.nan


def _array(values, dtype):
  return np.asarray(values, jnp.dtype(dtype))


@jax.jit
def _gradient(x, scale, dy):
  return jax.vjp(rms_norm, x, scale)[1](dy)


def _assert_equal(actual, desired):
  # NumPy takes no NaN of bfloat16 for another.
  np.testing.assert_array_equal(
      *(np.asarray(array).astype("float64") for array in (actual, desired))
  )


class RmsNormSpecialValuesTest(parameterized.TestCase):

  @parameterized.product(
      dtype=_DTYPES,
      row=(
          (_NAN, 1, -2),
          (_INF, 1, 0),
          (1, 2, -_INF),
          (_INF, -_INF, _NAN),
          (0, 0, 0),
          (0, 1, 0),
      ),
      eps=(0.0, 1e-6, _INF),
  )
  def test_x(self, dtype, row, eps):
    # Rows on both sides have to stay what they are.
    x = _array([(1, 2, 3), row, (4, 5, 6)], dtype)
    oracle.forward(x, eps=eps).check(rms_norm(x, eps=eps))

  @parameterized.product(dtype=_DTYPES, scale_dtype=_DTYPES)
  def test_scale(self, dtype, scale_dtype):
    x = _array([(1, -2, 3, 4), (1, 0, 0, _NAN)], dtype)
    scale = _array((_INF, -_INF, _NAN, 0), scale_dtype)
    expected = [(_INF, _INF, _NAN, 0), (_NAN,) * 4]
    _assert_equal(rms_norm(x, scale), _array(expected, dtype))

  @parameterized.parameters(*_DTYPES)
  def test_signed_zero(self, dtype):
    x = _array((-0.0, 0.0, 1.0, -1.0), dtype)
    scale = _array((1.0, -1.0, -0.0, -0.0), dtype)
    signs = np.signbit(np.asarray(rms_norm(x, scale), "float64"))
    _assert_equal(signs, (True, True, True, False))

  @parameterized.parameters(
      ("bfloat16", 1e30), ("float32", -1e20), ("float64", 1e200)
  )
  def test_square_overflows(self, dtype, huge):
    y = rms_norm(_array((huge, 1), dtype))
    _assert_equal(y, (0, 0))
    _assert_equal(np.signbit(y[0]), huge < 0)

  @parameterized.parameters(
      ("bfloat16", 1.5e19), ("float32", 1.5e19), ("float64", 1.2e154)
  )
  def test_sum_of_squares_overflows(self, dtype, huge):
    x = _array([(huge, 0), (huge, huge)], dtype)
    np.testing.assert_allclose(
        np.asarray(rms_norm(x), "float64"), [(2**0.5, 0), (0, 0)], rtol=4e-3
    )

  def test_square_of_float16_does_not_overflow(self):
    y = rms_norm(_array((65504, -65504), "float16"))
    _assert_equal(y, (1, -1))

  @parameterized.parameters(
      ("bfloat16", 1e-39), ("float32", 1e-40), ("float64", 1e-310)
  )
  def test_subnormal(self, dtype, tiny):
    x = _array((tiny, -tiny), dtype)
    self.assertTrue(np.all(x))
    scale = _array((1e38, 1e38), dtype)
    if oracle.on_gpu():
      oracle.forward(x, scale).check(rms_norm(x, scale))
      return
    _assert_equal(rms_norm(x, scale), (0, 0))
    _assert_equal(rms_norm(x, eps=0), (_NAN, _NAN))

  @parameterized.parameters(
      ("bfloat16", 1e-25), ("float32", 1e-20), ("float64", 1e-160)
  )
  def test_subnormal_square(self, dtype, tiny):
    y = rms_norm(_array((tiny, -tiny), dtype), eps=0)
    if oracle.on_gpu():  # Kept, with fewer bits.
      np.testing.assert_allclose(y.astype("float64"), (1, -1), rtol=1e-2)
      return
    _assert_equal(y, (_INF, -_INF))

  def test_subnormal_of_float16_is_not_zero(self):
    unit = 2.0**-24
    x = _array((unit, -unit, 1023 * unit), "float16")
    oracle.forward(x, eps=0).check(rms_norm(x, eps=0))
    self.assertTrue(np.all(rms_norm(x, eps=0)))
    dx = jax.grad(lambda x: rms_norm(x, eps=1e6).astype("float32").sum())
    _assert_equal(jax.jit(dx)(x), _array((1e-3, 1e-3, 1e-3), "float16"))

  @parameterized.parameters(1.0, 3.0)
  def test_result_subnormal_in_float16(self, scale):
    unit = 2.0**-24
    scale = _array((scale * unit, scale * unit), "float32")
    y = rms_norm(_array((1, -1), "float16"), scale, eps=0)
    _assert_equal(y, np.float32([1, -1]) * scale)

  def test_result_overflows_float16(self):
    scale = np.float32([65519, 65520, -1e6])
    y = rms_norm(_array((1, 1, 1), "float16"), scale, eps=0)
    _assert_equal(y, (65504, _INF, -_INF))

  @parameterized.product(
      dtype=_DTYPES,
      operand=("x", "scale", "dy"),
      value=(_NAN, _INF, -_INF),
  )
  def test_gradient(self, dtype, operand, value):
    x = _array([(1, 2), (3, -4), (5, 6), (-7, 8), (1, -1)], dtype)
    operands = {"x": x, "scale": x[0].copy(), "dy": x[::-1].copy()}
    operands[operand].flat[1] = value
    self.check_gradient(**operands)

  @parameterized.parameters(*_DTYPES)
  def test_gradient_of_huge_number(self, dtype):
    x = _array([(1, 2), (3, -4), (5, 6), (-7, 8), (1, -1)], dtype)
    x[1, 1] = jnp.finfo(dtype).max
    self.check_gradient(x, x[0], _array(x == x[0], dtype))

  def check_gradient(self, x, scale, dy):
    actual = _gradient(x, scale, dy)
    for expected, got in zip(oracle.gradient(x, scale, dy), actual):
      expected.check(got)


if __name__ == "__main__":
  absltest.main()
