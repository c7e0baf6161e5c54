# SPDX-License-Identifier: Apache-2.0
"""The op under every transformation, and beside an op of xla_ffi_ops."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
from swish import swish

from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit import testing


class SwishTest(testing.OpTest):
  case = testing.Case(
      swish,
      [testing.Operand(())],
      definition=lambda x: x / (1 + np.exp(-x)),
  )

  def test_after_rms_norm(self):
    x = jnp.array([[3.0, -4.0], [0.0, 1.0]], jnp.float32)
    y = jax.jit(lambda x: swish(rms_norm(x)))(x)
    norm = x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(y, jax.nn.swish(norm), rtol=1e-6)


if __name__ == "__main__":
  absltest.main()
