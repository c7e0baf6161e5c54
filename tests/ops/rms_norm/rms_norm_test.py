# SPDX-License-Identifier: Apache-2.0
"""The values of rms_norm against the definition in NumPy."""

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

# 1024 columns are a block of the sum; 3, 17 and 1023 leave rests in any vector
# length; 4096 x 33 in rows and 65536 in columns take more than one thread.
_SHAPES = (
    (0,),
    (1,),
    (17,),
    (1024,),
    (65536,),
    (0, 3),
    (3, 0),
    (5, 1),
    (4096, 33),
    (2, 65536),
    (2, 3, 1023),
    (4, 0, 3),
    (2, 1, 2, 1025),
    (1, 2, 3, 4),
)


class RmsNormTest(parameterized.TestCase):

  @parameterized.parameters(
      itertools.product(_SHAPES, _DTYPES, (None, *_DTYPES))
  )
  def test_value(self, shape, dtype, scale_dtype):
    x = normal(shape, dtype)
    scale = scale_dtype and normal(shape[-1:], scale_dtype, seed=1)
    y = jax.jit(rms_norm)(x, scale)
    self.assertEqual(y.shape, shape)
    self.assertEqual(y.dtype, dtype)
    oracle.forward(x, scale).check(y)

  @parameterized.parameters(
      itertools.product(
          _DTYPES, (0, 0.0, 1e-30, np.float32(0.1), 3, 1e5, 1e300, np.inf)
      )
  )
  def test_eps(self, dtype, eps):
    x = normal((3, 5), dtype)
    y = jax.jit(lambda x: rms_norm(x, eps=eps))(x)
    oracle.forward(x, eps=eps).check(y)

  def test_eps_defaults_to_1e_6(self):
    x = np.full((1, 4), 1e-3)
    np.testing.assert_allclose(rms_norm(x), 0.5**0.5, rtol=1e-14)

  @parameterized.parameters(*_DTYPES)
  def test_eager(self, dtype):
    x, scale = normal((2, 3, 5), dtype), normal((5,), dtype, seed=1)
    np.testing.assert_array_equal(
        rms_norm(x, scale), jax.jit(rms_norm)(x, scale)
    )

  def test_takes_jax_arrays(self):
    x = normal((3, 5), "float32")
    y = rms_norm(jnp.asarray(x), jnp.asarray(x[0]))
    self.assertIsInstance(y, jax.Array)
    oracle.forward(x, x[0]).check(y)

  def test_takes_arrays_that_are_not_contiguous(self):
    x = normal((5, 3), "float32").T
    oracle.forward(x, x[0, ::-1]).check(rms_norm(x, x[0, ::-1]))

  def test_without_x64(self):
    x = normal((3, 5), "float32")
    with jax.enable_x64(False):
      y = jax.jit(rms_norm)(x, x[0])
    oracle.forward(x, x[0]).check(y)

  @parameterized.product(dtype=_DTYPES, shape=((7, 1000), (2, 3, 64)))
  def test_equals_plain_jax(self, dtype, shape):
    x, scale = normal(shape, dtype), normal(shape[-1:], "float32", seed=1)

    @jax.jit
    def plain(x, scale):
      x = x.astype(oracle.accumulator(dtype))
      mean = jnp.mean(x * x, axis=-1, keepdims=True)
      return (x / jnp.sqrt(mean + 1e-6) * scale).astype(dtype)

    # Each of the two may be off by what the definition's error is.
    error = 2 * oracle.forward(x, scale).error
    oracle.Expected(np.asarray(plain(x, scale)), error).check(
        jax.jit(rms_norm)(x, scale)
    )


if __name__ == "__main__":
  absltest.main()
