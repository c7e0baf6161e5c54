# SPDX-License-Identifier: Apache-2.0
"""What each step gains."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
import steps

_ALL = (steps.step1, steps.step2, steps.step3, steps.step4, steps.step5)
_OPS = _ALL[2:]


def _arrays():
  rng = np.random.default_rng(0)
  x = rng.normal(size=(3, 4)).astype(np.float32)
  return x, rng.uniform(size=(3, 4)).astype(np.float32)


def _sum(function):
  return lambda x, rate: function(x, rate).sum()


class StepsTest(parameterized.TestCase):

  @parameterized.parameters(*_ALL)
  def test_values(self, step):
    x, rate = _arrays()
    np.testing.assert_allclose(step(x, rate), np.exp(-rate * x), rtol=1e-6)

  @parameterized.parameters(*_ALL[:2])
  def test_the_old_calls_have_no_derivatives(self, step):
    with self.assertRaisesRegex(ValueError, "cannot be differentiated"):
      jax.grad(_sum(step))(*_arrays())

  @parameterized.parameters(*_OPS)
  def test_ops_have(self, step):
    x, rate = _arrays()
    y = np.exp(-rate * x)
    dx, drate = jax.grad(_sum(step), (0, 1))(x, rate)
    np.testing.assert_allclose(dx, -rate * y, rtol=1e-5)
    np.testing.assert_allclose(drate, -x * y, rtol=1e-5, atol=1e-6)

  def test_who_computes_the_gradient(self):
    x, rate = _arrays()
    called = [
        "_bwd" in jax.jit(jax.grad(_sum(step))).lower(x, rate).as_text()
        for step in _OPS
    ]
    self.assertEqual(called, [False, False, True])

  def test_shared_operands(self):
    """The first op copies them; the others do not."""
    x, rate = _arrays()
    copied = []
    for step in _OPS:
      program = jax.jit(jax.vmap(step, (0, None)))
      found = program(x, rate[0])
      np.testing.assert_allclose(found, np.exp(-rate[0] * x), rtol=1e-6)
      text = program.lower(x, rate[0]).as_text()
      call = next(line for line in text.splitlines() if "custom_call" in line)
      copied.append("(tensor<3x4xf32>, tensor<3x4xf32>)" in call)
    self.assertEqual(copied, [True, False, False])

  @parameterized.parameters(*_ALL[:2])
  def test_the_handler_refuses_other_sizes(self, step):
    x, rate = _arrays()
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "x, rate and y must have one size"
    ):
      jax.block_until_ready(step(x, rate[0]))


if __name__ == "__main__":
  absltest.main()
