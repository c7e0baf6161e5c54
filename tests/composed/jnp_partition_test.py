# SPDX-License-Identifier: Apache-2.0
"""partition and argpartition in place of those of jax.numpy."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from same_as_jax import SameAsJaxTest
import sorted_arrays

from jax_ffi_ops import argpartition
from jax_ffi_ops import partition


class PartitionTest(SameAsJaxTest):

  def _check(self, y, x, kth, axis):
    """What NumPy's partition promises too."""
    y, x = np.moveaxis(y, axis, -1), np.moveaxis(x, axis, -1)
    keys = sorted_arrays.equal_keys(y)
    np.testing.assert_array_equal(
        np.sort(keys, -1), np.sort(sorted_arrays.equal_keys(x), -1)
    )
    kth %= x.shape[-1]
    self.assertTrue(np.all(keys[..., :kth] <= keys[..., kth, None]))
    self.assertTrue(np.all(keys[..., kth:] >= keys[..., kth, None]))

  @parameterized.product(kth=(0, -1, 2), axis=(0, 1, -1))
  def test_axes(self, kth, axis):
    x = np.random.default_rng(0).integers(0, 9, (3, 4, 5))
    x = x.astype(np.int32)
    self._check(np.asarray(partition(x, kth, axis)), x, kth, axis)
    order = np.asarray(argpartition(x, kth, axis))
    self._check(np.take_along_axis(x, order, axis), x, kth, axis)

  def test_vmap_of_gradient(self):
    x = np.random.default_rng(0).permutation(60).reshape(20, 3)
    x = x.astype(np.float32)
    run = lambda f: jax.vmap(
        jax.grad(lambda x: f(x, 4)[4] ** 2), in_axes=1, out_axes=1
    )(x)
    np.testing.assert_array_equal(run(partition), run(jnp.partition))

  @parameterized.parameters("partition", "argpartition")
  def test_bools(self, name):
    """jax 0.12 takes them."""
    ours = {"partition": partition, "argpartition": argpartition}[name]
    x = np.array([True, False, True])
    try:
      expected = getattr(jnp, name)(x, 1)
    except TypeError:
      self.assert_same_error(ours, getattr(jnp, name), x, 1)
    else:
      self.assert_same(ours(x, 1), expected)

  @parameterized.product(
      names=("partition", "argpartition"),
      args=(
          (np.zeros((2, 3)), 3), (np.zeros((2, 3)), -4), (np.zeros(3), 0, 1),
          (np.zeros(3), 0.5), (np.zeros(3), 0, None), (np.zeros(0), 0),
          (np.zeros(3, complex), 1), ([3, 1], 0),
      ),
  )  # fmt: skip
  def test_errors(self, names, args):
    ours = {"partition": partition, "argpartition": argpartition}[names]
    self.assert_same_error(ours, getattr(jnp, names), *args)


if __name__ == "__main__":
  absltest.main()
