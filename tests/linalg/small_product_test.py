# SPDX-License-Identifier: Apache-2.0
"""Products of small matrices: their definition, and powers."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.linalg import matrix_power
from jax_ffi_ops.linalg.small_product import product

_DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


class ProductTest(testing.OpTest):
  case = Case(kit.ops_of(product)[0], [Operand((3, 5)), Operand((5, 4))])

  def calls_of(self, target):
    """A rule multiplies twice, and each product has a transpose of its own."""
    if target == self.case.op.forward_target:
      return tuple(range(1, 7))
    return super().calls_of(target)


def _draw(dtype, *shape, seed=0):
  rng = np.random.default_rng([seed, *shape])
  x = rng.normal(size=shape)
  if np.issubdtype(dtype, np.complexfloating):
    x = x + 1j * rng.normal(size=shape)
  return x.astype(dtype)


def _wide(x):
  return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


class MatricesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  @parameterized.product(dtype=_DTYPES, n=(1, 5, 8))
  def test_products(self, dtype, n):
    """|C - A B| <= k u |A| |B|, and twice that for complex numbers."""
    for m, k, batch in ((1, 1, 1), (3, 8, 19), (32, 32, 3)):
      a, b = _draw(dtype, batch, m, k), _draw(dtype, 1, k, n)
      found = np.asarray(product(a, b))
      unit = jnp.finfo(dtype).eps / 2 * (2 if np.iscomplexobj(a) else 1)
      error = np.abs(found - _wide(a) @ _wide(b))
      bound = 1.01 * (k + 1) * unit * (np.abs(_wide(a)) @ np.abs(_wide(b)))
      self.assertTrue(np.all(error <= bound), (m, k, n))
      alone = np.stack([product(each, b[0]) for each in a])
      np.testing.assert_array_equal(found, alone)

  @parameterized.parameters((32, True), (33, False))
  def test_rows_that_a_handler_takes(self, n, runs):
    for shape in ((n, 2), (2, n)):
      a = np.ones((2, *shape))
      text = kit.explain(product, a, a.mT)
      self.assertEqual("on cpu: forward: handler" in text, runs, text)

  @parameterized.parameters(
      ((2, 0, 3), (2, 3, 4)), ((2, 3, 0), (2, 0, 4)), ((0, 3, 2), (1, 2, 4))
  )
  def test_empty(self, a_shape, b_shape):
    a, b = np.ones(a_shape), np.ones(b_shape)
    np.testing.assert_array_equal(product(a, b), a @ b)

  @parameterized.product(dtype=_DTYPES, n=(-3, 0, 1, 7), rows=(1, 9))
  def test_powers(self, dtype, n, rows):
    """As jax's: both multiply squares, and invert for negative powers."""
    a = (_draw(dtype, 3, rows, rows) / (4 * rows) + np.eye(rows)).astype(dtype)
    found = matrix_power(a, n)
    self.assertEqual(found.dtype, dtype)
    np.testing.assert_allclose(
        found, np.linalg.matrix_power(a, n), rtol=100 * jnp.finfo(dtype).eps,
        atol=100 * jnp.finfo(dtype).eps * 4 ** abs(n) ** 0.5,
    )  # fmt: skip

  def test_gradients_of_powers(self):
    a = _draw(np.float64, 2, 3, 3)

    def sums(power):
      return jax.grad(lambda a: jnp.sum(jnp.sin(power(a, 3))))(a)

    np.testing.assert_allclose(
        sums(matrix_power), sums(jnp.linalg.matrix_power), rtol=1e-12
    )

  def test_what_jax_refuses(self):
    for power in (matrix_power, jnp.linalg.matrix_power):
      with self.assertRaises(TypeError):
        power(np.eye(3), 1.5)
      with self.assertRaises(TypeError):
        power(np.ones((3, 4)), 2)

  def test_integers_stay_integers(self):
    a = np.array([[1, 1], [1, 0]])
    found = matrix_power(a, 30)
    self.assertEqual(found.dtype, a.dtype)
    self.assertEqual(found[0, 1], 832040)


if __name__ == "__main__":
  absltest.main()
