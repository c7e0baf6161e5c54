# SPDX-License-Identifier: Apache-2.0
"""dtype.h: names, sizes and bytes of JAX's arrays, and dispatch."""

from absl.testing import absltest
from absl.testing import parameterized
import handlers
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
handlers.register(
    "handler/handler_ext",
    "kit_test_describe",
    "kit_test_twice",
    "kit_test_only_float32",
)

_DISPATCHED = (
    *("bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
_FLOAT8 = (
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
# The bits of an element and the encoding of 0, 1, 2... JAX has int1 as well,
# but cannot make arrays of it.
_PACKED = {
    "int2": (2, [0, 1, 2, 3]),
    "uint2": (2, [0, 1, 2, 3]),
    "int4": (4, range(16)),
    "uint4": (4, range(16)),
    "float4_e2m1fn": (4, [0, 2, 4, 5, 6]),  # of 0, 1, 2, 3, 4
}
_SHAPES = ((), (1,), (2,), (3,), (7,), (9,), (64,), (0,), (3, 3), (5, 3, 1))


def _array(dtype, shape):
  """Returns an array of 0, 1, 2... and their number before they repeat."""
  period = len(_PACKED[dtype][1]) if dtype in _PACKED else 5
  if dtype == "bool":
    period = 2
  values = np.arange(np.prod(shape, dtype=int)).reshape(shape) % period
  if dtype in ("int2", "int4"):
    values = np.where(values < period // 2, values, values - period)
  return jnp.asarray(values, jnp.dtype(dtype)), period


def _call(x, size):
  return jax.ffi.ffi_call(
      "kit_test_describe",
      (
          jax.ShapeDtypeStruct((32,), np.uint8),
          jax.ShapeDtypeStruct((2,), np.int64),
          jax.ShapeDtypeStruct((size,), np.uint8),
      ),
  )(x)


def _describe(x, size):
  """Returns dtype.h's name, bits and bytes of x, and x's first `size` bytes."""
  name, sizes, content = _call(x, size)
  name = bytes(np.asarray(name)).rstrip(b"\0").decode()
  return name, *sizes.tolist(), bytes(np.asarray(content))


class DTypeTest(parameterized.TestCase):

  @parameterized.product(
      dtype=_DISPATCHED + _FLOAT8, shape=((), (0,), (5, 3, 1))
  )
  def test_describe(self, dtype, shape):
    x, _ = _array(dtype, shape)
    expected = np.asarray(x)
    name, bits, size, content = _describe(x, expected.nbytes)
    self.assertEqual(name, dtype)
    self.assertEqual(bits, 8 * expected.itemsize)
    self.assertEqual(size, expected.nbytes)
    self.assertEqual(content, expected.tobytes())

  @parameterized.product(dtype=tuple(_PACKED), shape=_SHAPES)
  def test_describe_packed(self, dtype, shape):
    width, codes = _PACKED[dtype]
    x, period = _array(dtype, shape)
    packed = sum(codes[i % period] << i * width for i in range(x.size))
    name, bits, size, content = _describe(x, -(-x.size * width // 8))
    self.assertEqual(name, dtype)
    self.assertEqual(bits, width)
    self.assertLen(content, size)
    # Whatever the other bits of the last byte are.
    used = (1 << x.size * width) - 1
    self.assertEqual(int.from_bytes(content, "little") & used, packed)

  @parameterized.product(dtype=_DISPATCHED + _FLOAT8 + tuple(_PACKED))
  def test_size_is_what_xla_allocates(self, dtype):
    x, _ = _array(dtype, (3, 3))
    compiled = jax.jit(_call, static_argnums=1).lower(x, 0).compile()
    self.assertEqual(
        _describe(x, 0)[2], compiled.memory_analysis().argument_size_in_bytes
    )

  @parameterized.parameters(*_DISPATCHED)
  def test_dispatch(self, dtype):
    x, _ = _array(dtype, (7, 11))
    if dtype.startswith("complex"):
      x = x * (1 - 0.5j)
    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    y = jax.ffi.ffi_call("kit_test_twice", result)(x)
    np.testing.assert_array_equal(y, np.asarray(x) + np.asarray(x))

  @parameterized.parameters("int32", "uint32", "bfloat16", "int4")
  def test_dispatch_over_a_list_without_the_dtype(self, dtype):
    x, _ = _array(dtype, (3,))
    result = jax.ShapeDtypeStruct((), x.dtype)
    call = jax.ffi.ffi_call("kit_test_only_float32", result)
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError,
        f"^INTERNAL: kit_test_only_float32: no kernel for dtype {dtype}$",
    ):
      call(x)
    call(jnp.float32(1))


if __name__ == "__main__":
  absltest.main()
