# SPDX-License-Identifier: Apache-2.0
"""An op whose handler takes no loop dimensions."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np

import ops

_X = np.arange(4 * 3 * 3, dtype=np.float32).reshape(4, 3, 3)


class FixedRankTest(parameterized.TestCase):

  def test_one_matrix(self):
    self.assertEqual(ops.trace(_X[1]), np.trace(_X[1]))
    np.testing.assert_array_equal(jax.jacrev(ops.trace)(_X[1]), np.eye(3))
    np.testing.assert_array_equal(jax.jacfwd(ops.trace)(_X[1]), np.eye(3))

  def test_map(self):
    np.testing.assert_array_equal(
        jax.jit(lambda x: jax.lax.map(ops.trace, x))(_X),
        np.trace(_X, axis1=1, axis2=2),
    )

  @parameterized.parameters(
      (ops.trace,),
      (jax.vmap(ops.trace),),
      (jax.vmap(jax.grad(ops.trace)),),
      (jax.grad(lambda x: jax.vmap(ops.trace)(x).sum()),),
  )
  def test_loops(self, function):
    """The error is there before anything runs."""
    message = r"trace: handlers take 0 loop .*, got \[4\]. .* `jax.lax.map`"
    for call in (function, jax.make_jaxpr(function)):
      with self.assertRaisesRegex(ValueError, message):
        call(_X)


if __name__ == "__main__":
  absltest.main()
