# SPDX-License-Identifier: Apache-2.0
"""argsort: its definition, and that it has the values of jax.numpy.argsort."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import sorted_arrays

from jax_ffi_ops import argsort
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


class ArgsortOrderTest(sorted_arrays.SortTestCase):
  function = staticmethod(argsort)
  namesake = staticmethod(jnp.argsort)

  def check(self, x, axis, descending, y, label):
    self.assertEqual(y.dtype, np.int64)
    np.testing.assert_array_equal(
        y, sorted_arrays.stable_order(x, axis, descending), label
    )

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
