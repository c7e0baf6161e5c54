# SPDX-License-Identifier: Apache-2.0
"""What rms_norm refuses, and that the message shows the value."""

import decimal

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import rms_norm

jax.config.update("jax_enable_x64", True)

_X = np.ones((2, 3), np.float32)


class RmsNormErrorsTest(parameterized.TestCase):

  def check(self, error, name, shown, *args, **kwargs):
    """Expects an error that has an argument's name and shows its value."""
    with self.assertRaisesRegex(error, rf"\b{name}\b") as context:
      rms_norm(*args, **kwargs)
    self.assertIn(str(shown), str(context.exception))

  @parameterized.parameters(
      "bool",
      "int8",
      "uint16",
      "int32",
      "int64",
      "complex64",
      "complex128",
      "float8_e4m3fn",
      "int4",
  )
  def test_dtype(self, dtype):
    array = jnp.ones(3, dtype)
    self.check(TypeError, "x", dtype, array)
    self.check(TypeError, "scale", dtype, _X, array)

  @parameterized.parameters(">f4", "longdouble", "object", "U1", "M8[s]")
  def test_dtype_that_jax_does_not_have(self, dtype):
    array = np.zeros(3, dtype)
    self.check(TypeError, "x", array.dtype, array)
    self.check(TypeError, "scale", array.dtype, _X, array)

  def test_key(self):
    self.check(TypeError, "x", "key<", jax.random.key(0))
    self.check(TypeError, "scale", "key<", _X, jax.random.key(0))

  @parameterized.parameters(
      (None,), ([1.0, 2.0, 3.0],), ((1.0, 2.0, 3.0),), ("text",), ({},)
  )
  def test_not_an_array(self, value):
    self.check(TypeError, "x", repr(value), value)
    if value is not None:
      self.check(TypeError, "scale", repr(value), _X, value)

  @parameterized.parameters(
      (np.float32(2),), (np.ones(()),), (jnp.float32(2),), (jnp.bfloat16(2),)
  )
  def test_scalar(self, x):
    with self.assertRaisesRegex(ValueError, r"\bx\b.*(scalar|shape \(\))"):
      rms_norm(x)

  @parameterized.parameters(
      ((),), ((0,),), ((1,),), ((2,),), ((4,),), ((1, 3),), ((2, 3),)
  )
  def test_shape_of_scale(self, shape):
    self.check(ValueError, "scale", shape, _X, np.ones(shape))

  @parameterized.parameters(
      (None,),
      (True,),
      (np.bool_(True),),
      ("1e-6",),
      (1e-6j,),
      (np.complex64(1),),
      ([1e-6],),
      (np.array(1e-6),),
      (jnp.array(1e-6),),
      (decimal.Decimal("1e-6"),),
  )
  def test_type_of_eps(self, eps):
    self.check(TypeError, "eps", repr(eps), _X, eps=eps)

  @parameterized.parameters(
      -1e-6, -1, float("-inf"), float("nan"), np.float32("nan"), np.int8(-3)
  )
  def test_value_of_eps(self, eps):
    self.check(ValueError, "eps", eps, _X, eps=eps)

  def test_traced_eps(self):
    def traced(eps):
      self.check(TypeError, "eps", "Trace", _X, eps=eps)
      return eps

    jax.jit(traced)(1e-6)
    jax.grad(traced)(1e-6)
    jax.vmap(traced)(np.ones(2))

  def test_traced_operands(self):
    def traced(x):
      self.check(TypeError, "x", "int32", x)
      self.check(TypeError, "scale", "int32", _X, x)
      return x

    jax.jit(traced)(np.ones(3, np.int32))
    jax.vmap(traced)(np.ones((2, 3), np.int32))

  def test_shape_of_scale_inside_vmap(self):
    def batched(scale):
      self.check(ValueError, "scale", (4,), _X, scale)
      return scale

    jax.vmap(batched)(np.ones((2, 4)))

  def test_eps_is_a_keyword(self):
    with self.assertRaisesRegex(TypeError, "positional"):
      rms_norm(_X, None, 1e-6)


if __name__ == "__main__":
  absltest.main()
