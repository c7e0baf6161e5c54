# SPDX-License-Identifier: Apache-2.0
"""sort: its definition, and that it has the bits of jax.numpy.sort."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import sorted_arrays

from jax_ffi_ops import sort
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.ops.sort import has_one_nan


def _definition(x, *, descending, one_nan):
  del one_nan
  order = slice(None, None, -1 if descending else 1)
  if not isinstance(x, Bounded):
    return np.sort(x, -1)[..., order]
  return sorted_arrays.kept(x, np.sort(x.value, -1)[..., order])


class SortTest(testing.OpTest):
  case = Case(
      sort,
      [Operand((16,))],
      attributes={"descending": True},
      definition=_definition,
      namesake=jnp.sort,
      trailing=1,
  )


class SortBitsTest(sorted_arrays.SortTestCase):
  function = staticmethod(sort)
  namesake = staticmethod(jnp.sort)

  def check(self, x, axis, descending, y, label):
    self.assertEqual(y.dtype, x.dtype)
    one_nan = has_one_nan(x.shape[axis])
    np.testing.assert_array_equal(
        y.view(sorted_arrays.unsigned(x.dtype)),
        sorted_arrays.sorted_bits(x, axis, descending, one_nan),
        label,
    )

  def test_arguments(self):
    x = np.array([[3, 1], [2, 4]], np.int8)
    np.testing.assert_array_equal(sort(x, None), [1, 2, 3, 4])
    np.testing.assert_array_equal(sort(x, 0, stable=False), [[2, 1], [3, 4]])
    z = np.array([2 + 1j, 2, 1j], np.complex64)
    np.testing.assert_array_equal(sort(z), jnp.sort(z))
    for wrong in ({"kind": "stable"}, {"order": "x"}):
      with self.assertRaises(TypeError):
        sort(x, **wrong)
    with self.assertRaises(ValueError):
      sort(x, 2)

  def test_gradients_of_equal_elements(self):
    x = np.array([1.0, 0.0, 1.0, -0.0, np.nan, 1.0], np.float32)
    y_bar = np.arange(6, dtype=np.float32)

    def derivatives(function):
      def both(descending):
        f = lambda x: function(x, descending=descending)
        return jax.vjp(f, x)[1](y_bar), jax.jvp(f, (x,), (y_bar,))[1]

      return jax.jit(lambda: [both(False), both(True)])()

    jax.tree.map(
        np.testing.assert_array_equal, derivatives(sort), derivatives(jnp.sort)
    )


if __name__ == "__main__":
  absltest.main()
