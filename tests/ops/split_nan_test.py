# SPDX-License-Identifier: Apache-2.0
"""A NaN on one device reaches the results of the others that depend on it.

What devices tell each other is a reduction of their pieces, and XLA's reductions
may lose NaNs where they are vectorized.
"""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import devices

_ROWS = ("layer_norm", "rms_norm", "softmax")
_SCANS = ("cumlogsumexp", "cummax", "cummin", "cumsum", "linear_recurrence")


def _function(name, axis):
  op = getattr(jax_ffi_ops, name)
  if name in _ROWS:
    return op
  if name == "linear_recurrence":
    return lambda x: op(jnp.full_like(x, 0.5), x, axis=axis)
  return lambda x: op(x, axis)


def _check(name, axis):
  x = np.random.default_rng(axis).normal(size=(64, 1024)).astype(np.float32)
  x[1, 9] = x[20, 700] = np.nan
  mesh = devices.mesh(a=8)
  spec = jax.sharding.PartitionSpec(*[None] * axis, "a")
  split = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))

  def both(x, f=_function(name, axis)):
    y, pull = jax.vjp(f, x)
    return y, *pull(jnp.ones_like(y))

  with kit.using("handler if served"):
    run = jax.jit(both)
    wanted = run(x)
    assert np.isnan(wanted[0]).any()
    for found, want in zip(run(split), wanted, strict=True):
      np.testing.assert_array_equal(np.isnan(found), np.isnan(want))


class SplitNanTest(parameterized.TestCase):

  def test_all_are_here(self):
    split = set()
    for name in dir(jax_ffi_ops):
      ops = getattr(getattr(jax_ffi_ops, name), "ops", ())
      split.update(
          x.declaration.name for x in ops if x.declaration.split is not None
      )
    self.assertEqual(split, {*_ROWS, *_SCANS})

  @parameterized.parameters(*_ROWS, *_SCANS)
  def test_results_and_gradients(self, name):
    _check(name, 1)


class MoreSplitNanTest(parameterized.TestCase):

  @parameterized.parameters(*_SCANS)
  def test_results_and_gradients_of_columns(self, name):
    _check(name, 0)


if __name__ == "__main__":
  devices.force()
  absltest.main()
