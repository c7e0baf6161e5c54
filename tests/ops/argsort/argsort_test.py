# SPDX-License-Identifier: Apache-2.0
"""argsort: its definition, and that it has the values of jax.numpy.argsort."""

from absl.testing import absltest
from hypothesis import strategies
import jax
import jax.numpy as jnp
import numpy as np
import sorted_arrays

from jax_ffi_ops import argsort
from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _definition(x, *, descending, stable):
  x = np.asarray(x.value if isinstance(x, Bounded) else x)
  flipped = np.flip(x, -1) if descending and stable else x
  order = np.argsort(flipped, -1, kind="stable")
  if descending and stable:
    order = x.shape[-1] - 1 - order
  order = np.flip(order, -1) if descending else order
  return order.astype(np.int32)


class ArgsortTest(testing.OpTest):
  case = Case(
      argsort,
      [Operand((16,))],
      attributes={"descending": True, "stable": False},
      # Of the dtype that indices have in jax, which a handler does not know.
      reference=lambda x: jnp.flip(jnp.argsort(x)),
      definition=_definition,
      namesake=jnp.argsort,
      trailing=1,
  )


class ArgsortOrderTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  def _check(self, x, axis, descending, y):
    self.assertEqual(y.dtype, np.int64)
    np.testing.assert_array_equal(
        y,
        sorted_arrays.stable_order(x, axis, descending),
        f"{x.dtype}{x.shape}, axis={axis}, descending={descending}",
    )

  def test_namesake(self):
    """The order here is that of jax.numpy."""
    for dtype in kit.ORDERED:
      for result in sorted_arrays.results(jnp.argsort, dtype, [((40, 3), 0)]):
        self._check(*result)

  def test_order(self):
    for dtype in kit.ORDERED:
      shapes = sorted_arrays.shapes(dtype)
      for result in sorted_arrays.results(argsort, dtype, shapes):
        self._check(*result)

  def test_hard_orders(self):
    for count in (1000, 200_000):
      for dtype in (np.int32, np.float64):
        for _, x in sorted_arrays.orders(count):
          x = x.astype(dtype)
          self._check(x, 0, False, argsort(x))

  @sorted_arrays.many(strategies.booleans())
  def test_many(self, x, descending):
    self._check(x, 0, descending, argsort(x, descending=descending))

  def test_arguments(self):
    x = np.array([[3, 1], [2, 3]], np.int8)
    np.testing.assert_array_equal(argsort(x, None), [1, 2, 0, 3])
    unstable = argsort(x, None, stable=False, descending=True)
    np.testing.assert_array_equal(unstable, [3, 0, 2, 1])
    for dtype in (np.int32, np.int64, np.uint8):
      self.assertEqual(argsort(x, dtype=dtype).dtype, dtype)
    with jax.enable_x64(False):
      self.assertEqual(argsort(x).dtype, np.int32)
    z = np.array([2 + 1j, 2, 1j], np.complex64)
    np.testing.assert_array_equal(argsort(z), jnp.argsort(z))
    for wrong in ({"kind": "stable"}, {"order": "x"}):
      with self.assertRaises(TypeError):
        argsort(x, **wrong)
    with self.assertRaises(ValueError):
      argsort(x, 2)


if __name__ == "__main__":
  absltest.main()
