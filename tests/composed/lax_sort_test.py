# SPDX-License-Identifier: Apache-2.0
"""lax_sort and sort_key_val have the bits of jax.lax."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np
from same_as_jax import SameAsJaxTest
import sorted_arrays

from jax_ffi_ops import kit
from jax_ffi_ops import lax_sort
from jax_ffi_ops import sort
from jax_ffi_ops import sort_key_val
from jax_ffi_ops import top_k
from jax_ffi_ops.kit.testing.cases import devices

# With ties and what is not a number.
_KEYS = np.float32([[2, np.nan, -0.0, 2, 0, 1], [1, 1, 1, 3, np.nan, 3]] * 4)
_VALUES = np.arange(48.0, dtype=np.float32).reshape(8, 6)


def _both(function):
  """Calls one function with each of those that are to be the same."""
  return function(lax_sort), function(jax.lax.sort)


class LaxSortTest(SameAsJaxTest):

  @parameterized.parameters(1, 2)
  def test_bits(self, num_keys):
    """One program for all dtypes. The second key decides between equal ones."""
    with jax.enable_x64(True):
      sets = []
      for dtype in kit.ORDERED:
        x = np.stack(list(sorted_arrays.arrays(dtype, (120,))))
        indices = np.arange(x.size).reshape(x.shape)
        sets.append((x, x[:, ::-1], indices))
      self.assert_same(*_both(
          lambda sort: jax.jit(
              lambda sets: [sort(xs, num_keys=num_keys) for xs in sets]
          )(sets)
      ))  # fmt: skip

  @parameterized.parameters(
      ([0],), ([0, 1], 0), ((0, 2), -1, False), ((1, 0, 2), 1, True, 3)
  )
  def test_arguments(self, which, *args):
    arrays = [_KEYS, _VALUES.astype(np.int8), jnp.asarray(_KEYS) * 1j]
    operands = type(which)(arrays[i] for i in which)
    self.assert_same(*_both(lambda sort: sort(operands, *args)))

  @parameterized.parameters((0,), (1,), (3, 0), (0, 3))
  def test_small(self, *shape):
    x = np.zeros(shape, np.float32)
    self.assert_same(*_both(lambda sort: (sort(x), sort([x, x], 0))))

  @parameterized.parameters(np.float16, jnp.bfloat16)
  def test_one_element(self, dtype):
    """No bit of a NaN changes: XLA removes the sort. (Not top_k of jax 0.12.)"""
    x = np.arange(2**16, dtype=np.uint16).view(dtype)[:, None]
    zero = np.zeros(x.shape, np.int32)
    for found, want in (
        (sort_key_val(x, x), jax.lax.sort_key_val(x, x)),
        (sort_key_val(zero, x), jax.lax.sort_key_val(zero, x)),
        (lax_sort([x, x], num_keys=2), jax.lax.sort([x, x], num_keys=2)),
        (lax_sort(x), jax.lax.sort(x)),
        (sort(x), jnp.sort(x)),
        (top_k(x, 1), jax.lax.top_k(x, 1)),
    ):
      self.assert_same(found, want)
      bits = lambda y: np.asarray(y).view(np.uint16)
      for y, own in zip(jax.tree.leaves(found), jax.tree.leaves(want)):
        if y.dtype != dtype:
          continue
        np.testing.assert_array_equal(bits(y), bits(own))
        if not isinstance(found, list):  # As that of top_k is.
          np.testing.assert_array_equal(bits(y), bits(x))

  def test_key_and_values(self):
    for args in ((), (0,), (-1, False)):
      self.assert_same(
          sort_key_val(_KEYS, _VALUES, *args),
          jax.lax.sort_key_val(_KEYS, _VALUES, *args),
      )
    for wrong in ((_KEYS, _VALUES[0]), (_KEYS, _VALUES, 2), (_KEYS, 1.0)):
      self.assert_same_error(sort_key_val, jax.lax.sort_key_val, *wrong)

  def test_weak_type(self):
    x = jnp.broadcast_to(jnp.asarray(3.0), (20,))
    self.assert_same(*_both(lambda sort: sort([x, x])))

  @parameterized.parameters(
      ([],), (_KEYS, 2), (_KEYS, None), ([_KEYS, _VALUES[0]],),
      ([_KEYS], -1, True, 2), (_KEYS, -1, True, 0), (3.0,), ("a",),
      ([_KEYS, np.array(["a"])],),
  )  # fmt: skip
  def test_errors(self, *args):
    self.assert_same_error(lax_sort, jax.lax.sort, *args)

  def test_derivatives(self):
    arrays = [jnp.asarray(_KEYS), jnp.asarray(_VALUES), jnp.asarray(_VALUES)]
    weights = np.float32(np.arange(144)).reshape(3, 8, 6) + 1
    keys = arrays[0].astype(jnp.bfloat16)  # Its NaNs are written anew.

    def derivatives(sort):
      run = lambda *xs: jnp.stack(sort([xs[0].astype(np.float32), *xs[1:]]))
      primals = keys.astype(np.float32), *arrays[1:]
      _, vjp = jax.vjp(run, *primals)
      narrow = jax.jvp(lambda x: sort([x, x]), (keys,), (keys * 0 + 2,))
      return jax.jvp(run, primals, tuple(weights))[1], vjp(weights), narrow

    self.assert_same(*_both(jax.jit(derivatives, static_argnums=0)))

  def test_vmap(self):
    run = lambda sort: jax.vmap(
        lambda x, y: sort((x, y), 0), in_axes=(1, None), out_axes=-1
    )(jnp.stack([_KEYS, 1 - _KEYS, _VALUES], 1), _VALUES)
    self.assert_same(*_both(run))

  def test_symbolic_shapes(self):
    for shape in jax.export.symbolic_shape("b,6"), jax.export.symbolic_shape(
        "8,n"
    ):
      x = jax.ShapeDtypeStruct(shape, np.float32)
      checks = kit.export_checks(lax_sort)
      exported = jax.export.export(
          jax.jit(lambda *xs: lax_sort(xs)), disabled_checks=checks
      )(x, x)
      self.assert_same(
          exported.call(_KEYS, _VALUES), jax.lax.sort((_KEYS, _VALUES))
      )

  def test_split_rows(self):
    place = NamedSharding(devices.mesh(x=8), P("x"))
    arrays = [jax.device_put(x, place) for x in (_KEYS, _VALUES)]
    program = jax.jit(lax_sort).lower(arrays).compile()
    self.assert_same(program(arrays), jax.lax.sort((_KEYS, _VALUES)))
    self.assertNotRegex(program.as_text(), "all-|collective")


if __name__ == "__main__":
  devices.force()
  absltest.main()
