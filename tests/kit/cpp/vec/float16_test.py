# SPDX-License-Identifier: Apache-2.0
"""Float16 and BFloat16 of C++ against NumPy, over all values and roundings."""

import ctypes
import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

_LIBRARY = pathlib.Path(__file__).with_name("libfloat16_test.so")
_ALL_16_BITS = np.arange(2**16, dtype=np.uint16)

# Every float32 up to the bits that rounding to float16 cuts off a normal
# number, and these bits on each side of where rounding changes; more bits are
# cut off subnormals, and there the first list has both sides. As bfloat16 cuts
# off 16 bits, the same numbers are just below, at and above its midpoints too.
_UPPER_BITS = np.arange(2**19, dtype=np.uint32) << 13
_LOWER_BITS = (0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF)


def _float32():
  bits = [_UPPER_BITS | np.uint32(lower) for lower in _LOWER_BITS]
  random = np.random.default_rng(0).integers(0, 2**32, 10**6, np.uint32)
  return np.concatenate([*bits, random]).view(np.float32)


class Float16Test(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.library = ctypes.CDLL(str(_LIBRARY))

  def setUp(self):
    super().setUp()
    # NumPy warns of overflow and of NaN.
    self.enter_context(np.errstate(all="ignore"))

  def convert(self, values, dtype, flush, kind=""):
    """Converts in C++, with subnormals flushed or not."""
    result = np.empty(values.shape, dtype)
    convert = self.library[f"{kind}{values.dtype}_to_{result.dtype}"]
    pointers = (ctypes.c_void_p(a.ctypes.data) for a in (values, result))
    convert(*pointers, ctypes.c_int64(values.size), ctypes.c_bool(flush))
    return result

  def check_bits(self, actual, expected):
    """Any NaN is as good as another, if its sign is kept."""
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), nan)
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))
    bits = f"uint{8 * actual.itemsize}"
    np.testing.assert_array_equal(
        actual[~nan].view(bits), expected[~nan].view(bits)
    )

  def test_python_and_cpp_use_the_same_level(self):
    level = self.library.cpu_level()
    self.assertEqual(level, kit.cpu_level())
    wanted = os.environ.get("XLA_FFI_OPS_CPU_LEVEL", level)
    self.assertLessEqual(level, int(wanted))

  @parameterized.product(
      dtype=("float16", "bfloat16"), flush=(False, True), kind=("", "row_of_")
  )
  def test_to_float(self, dtype, flush, kind):
    values = _ALL_16_BITS.view(jnp.dtype(dtype))
    actual = self.convert(values, np.float32, flush, kind)
    self.check_bits(actual, values.astype(np.float32))

  @parameterized.product(
      dtype=("float16", "bfloat16"), flush=(False, True), kind=("", "row_of_")
  )
  def test_from_float(self, dtype, flush, kind):
    values = _float32()
    actual = self.convert(values, jnp.dtype(dtype), flush, kind)
    self.check_bits(actual, values.astype(actual.dtype))

  @parameterized.parameters(False, True)
  def test_float_rounded_to_float16(self, flush):
    values = _float32()
    actual = np.empty_like(values)
    self.library.float32_rounded_to_float16(
        *(ctypes.c_void_p(a.ctypes.data) for a in (values, actual)),
        ctypes.c_int64(values.size),
        ctypes.c_bool(flush),
    )
    self.check_bits(actual, values.astype(np.float16).astype(np.float32))

  @parameterized.product(dtype=("float16", "bfloat16"), flush=(False, True))
  def test_from_double_rounds_once(self, dtype, flush):
    values = _ALL_16_BITS[: 2**15].view(jnp.dtype(dtype))
    smallest = jnp.finfo(dtype).tiny if dtype == "bfloat16" else 0
    values = values[np.isfinite(values) & (values >= smallest)]
    below, above = values[:-1], values[1:]
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    is_even = below.view(np.uint16) % 2 == 0
    for x, expected in (
        (np.nextafter(middle, 0), below),
        (middle, np.where(is_even, below, above)),
        (np.nextafter(middle, np.inf), above),
    ):
      self.check_bits(self.convert(x, values.dtype, flush), expected)
      self.check_bits(self.convert(-x, values.dtype, flush), -expected)

  @parameterized.parameters("float16", "bfloat16")
  def test_from_double_beyond_float(self, dtype):
    values = np.array([1e300, -1e300, np.inf, -np.inf, np.nan, 1e-300, -0.0])
    actual = self.convert(values, jnp.dtype(dtype), False)
    self.check_bits(actual, values.astype(actual.dtype))

  @parameterized.product(dtype=("float16", "bfloat16"), flush=(False, True))
  def test_there_and_back(self, dtype, flush):
    values = _ALL_16_BITS.view(jnp.dtype(dtype))
    actual = self.convert(values, np.float32, flush)
    self.check_bits(self.convert(actual, values.dtype, flush), values)

  @parameterized.product(
      dtype=("float16", "bfloat16"), kind=("", "row_of_"), nan=(False, True)
  )
  def test_any_length(self, dtype, kind, nan):
    # A vectorized loop treats its rest in another way.
    for length in range(70):
      values = np.linspace(-3, 3, length, dtype=np.float32)
      if nan:
        values[::7] = -np.nan
      actual = self.convert(values, jnp.dtype(dtype), False, kind)
      self.check_bits(actual, values.astype(actual.dtype))
      back = self.convert(actual, np.float32, False, kind)
      self.check_bits(back, actual.astype(np.float32))


if __name__ == "__main__":
  absltest.main()
