# SPDX-License-Identifier: Apache-2.0
"""The memory of every dtype, and the handler of each that has one."""

from absl.testing import absltest
from absl.testing import parameterized
from dtypes import byte_size
from dtypes import from_bytes
from dtypes import negate
from dtypes import size_bytes
from dtypes import to_bytes
import jax
import jax.numpy as jnp
import numpy as np

_PACKED = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}
_NEGATED = (
    *("int8", "int32", "int64", "float16", "bfloat16", "float32"),
    *("float64", "complex64", "complex128"),
)
_DTYPES = (
    *("bool", "int16", "uint8", "uint16", "uint32", "uint64"),
    *("float8_e5m2", "float8_e4m3", "float8_e4m3fn", "float8_e3m4"),
    *("float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz"),
    *("float8_e8m0fnu", *_PACKED, *_NEGATED),
)


def _dtype(name):
  return np.dtype(getattr(jnp, name, name))


def _some(name, size):
  """Returns numbers that every dtype has; float8_e8m0fnu has no 0."""
  return np.resize([1.0, 1.0, 0.5, 1.0], size).astype(_dtype(name))


def _memory(x):
  """Returns the memory of an array in NumPy, packed as XLA packs it."""
  memory = np.frombuffer(x.tobytes(), np.uint8)
  if x.dtype.name not in _PACKED:
    return memory
  bits = np.unpackbits(memory[:, None], axis=1, bitorder="little")
  bits = bits[:, : _PACKED[x.dtype.name]]
  return np.packbits(bits.ravel(), bitorder="little")


class DTypesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  @parameterized.product(name=_DTYPES, size=(0, 3, 8))
  def test_bytes(self, name, size):
    x = _some(name, size)
    data = jax.jit(to_bytes)(x)
    np.testing.assert_array_equal(data, _memory(x))
    y = from_bytes(data, x.shape, x.dtype)
    self.assertEqual(y.dtype, x.dtype)
    np.testing.assert_array_equal(np.asarray(y), x)

  @parameterized.parameters("int4", "uint4", "int2", "uint2")
  def test_all_values_of_packed_integers(self, name):
    values = jnp.iinfo(name)
    x = np.arange(values.min, int(values.max) + 1).astype(_dtype(name))
    data = to_bytes(x)
    np.testing.assert_array_equal(data, _memory(x))
    y = from_bytes(data, x.shape, x.dtype)
    np.testing.assert_array_equal(y.astype(jnp.int32), x.astype(np.int32))

  @parameterized.parameters(*_PACKED)
  def test_size_bytes_counts_too_much(self, name):
    x = _some(name, 100)
    self.assertEqual(size_bytes(x), 100)
    self.assertEqual(byte_size(x.shape, x.dtype), 100 * _PACKED[name] // 8)

  def test_bits_after_the_last_element(self):
    """They may be anything: nobody may rely on them."""
    ones = np.array([255], np.uint8)
    again = jax.jit(lambda x: to_bytes(from_bytes(x, (1,), _dtype("int4"))))
    self.assertEqual(again(ones), 15)

  def test_a_dtype_without_zero(self):
    x = np.array([0, 1, 2], jnp.float8_e8m0fnu)
    np.testing.assert_array_equal(to_bytes(x), [255, 127, 128])  # 255 is NaN.

  @parameterized.parameters("int1", "uint1")
  def test_one_bit_is_refused(self, name):
    with self.assertRaises((ValueError, jax.errors.JaxRuntimeError)):
      jax.block_until_ready(to_bytes(np.zeros(7, _dtype(name))))

  @parameterized.parameters(*_NEGATED)
  def test_negate(self, name):
    x = np.array([[-2, 3, 0], [7, -128, 1]]).astype(_dtype(name))
    if name.startswith("complex"):
      x = x + x.dtype.type(2j)
    program = jax.jit(negate).lower(x)
    self.assertIn(f"@example_negate_{name}(", program.as_text())
    y = program.compile()(x)
    self.assertEqual(y.dtype, x.dtype)
    np.testing.assert_array_equal(np.asarray(y), -x)

  def test_no_handler_for_a_dtype(self):
    with self.assertRaisesRegex(TypeError, "int8, .*complex128, got uint8"):
      negate(np.zeros(3, np.uint8))

  @parameterized.parameters(
      ("negate_int8", np.int32, (3,), np.int8, "expected S8 but got S32"),
      ("negate_int8", np.int8, (2,), np.int8, r"shape \[3\], as x, got \[2\]"),
      ("to_bytes", np.int8, (2,), np.uint8, "have 3 elements, got 2"),
      ("to_bytes", jnp.int4, (3,), np.uint8, "have 2 elements, got 3"),
      ("from_bytes", np.uint8, (7,), jnp.int4, "have 4 elements, got 3"),
  )
  def test_refused(self, name, dtype, shape, result, message):
    call = jax.ffi.ffi_call(
        "example_" + name, jax.ShapeDtypeStruct(shape, result)
    )
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.block_until_ready(call(np.zeros(3, dtype)))

  def test_a_token_has_no_bytes(self):
    call = jax.ffi.ffi_call(
        "example_to_bytes",
        jax.ShapeDtypeStruct((0,), np.uint8),
        has_side_effect=True,  # XLA drops other calls without data.
    )
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "elements of known size, got token"
    ):
      jax.jit(lambda: call(jax.lax.create_token()))().block_until_ready()


if __name__ == "__main__":
  absltest.main()
