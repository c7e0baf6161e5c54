# SPDX-License-Identifier: Apache-2.0
"""layer_norm: its definition, and what is special about it."""

import itertools

from absl.testing import absltest
import jax
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import layer_norm
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import programs


def _definition(x, scale, bias, *, eps):
  mean = np.mean(x, -1, keepdims=True)
  rstd = 1 / np.sqrt(np.mean((x - mean) * (x - mean), -1, keepdims=True) + eps)
  y = (x - mean) * rstd * (1 if scale is None else scale)
  return y + (0 if bias is None else bias), mean[..., 0], rstd[..., 0]


def _gradient(x, scale, bias, mean, rstd, dy, *, eps):
  del eps
  xhat = (x - mean[..., None]) * rstd[..., None]
  g = dy * (1 if scale is None else scale)
  dx = rstd[..., None] * (
      g
      - np.mean(g, -1, keepdims=True)
      - xhat * np.mean(g * xhat, -1, keepdims=True)
  )
  dscale = None if scale is None else dy * xhat
  return dx, dscale, None if bias is None else dy


class LayerNormTest(testing.OpTest):
  case = Case(
      layer_norm,
      [Operand((16,)), Operand((16,)), Operand((16,))],
      attributes={"eps": 0.3},
      definition=_definition,
      gradient=_gradient,
  )

  def test_rows_that_do_not_begin_as_they_go_on(self):
    # The kernel may begin with the mean of the first 128 elements, or 32.
    for cols, (dtype, rounding) in itertools.product(
        (129, 1000, 5000, 65536), (("float32", 0), ("bfloat16", 2**-8))
    ):
      x = np.random.default_rng(cols).normal(size=(5, cols)) / 8
      x[0, :128] += 1000
      x[1, 128:] -= 1000
      x[2, 5] = 1e15
      x[3, 128:], x[4, 128] = np.nan, np.inf
      x, scale, bias = (
          x.astype(dtype) for x in (x, np.ones(cols), np.zeros(cols))
      )
      y = np.float64(layer_norm(x, scale, bias, eps=0.3))
      want, _, _ = _definition(np.float64(x[:3]), None, None, eps=0.3)
      # A sum is off by 6 units at most (row_total.h), and 10 roundings follow.
      bound = 16 * 2**-24 * np.max(np.abs(want), -1, keepdims=True)
      bound = bound + rounding * np.abs(want)
      self.assertLess(np.max(np.abs(y[:3] - want) / bound), 1)
      self.assertTrue(np.all(np.isnan(y[3:])))

  def test_one_bound_for_all_ways(self):
    """Of handler, reference and devices; so rows do not depend on their number.

    With the unit roundoff u, each of them is within u (16 max|y| + 2 |mean|
    rstd): the mean is off by one unit in its last place, and all else by a few
    of the largest y. Each piece on a device adds a rounding of the mean.
    Constant rows are 0.
    """
    means = np.float32([1e6, -1e6, 0.1, 3.3e7, 1e-3, 0])[:, None]
    spec = jax.sharding.PartitionSpec(None, "a")
    split = jax.sharding.NamedSharding(devices.mesh(a=8), spec)
    (op,) = kit.ops_of(layer_norm)
    reference = lambda x: op.declaration.reference(
        {"x": x, "scale": None, "bias": None}, {"eps": 1e-6}
    )
    ways = {"reference": jax.vmap(reference), "handler": layer_norm}
    for cols in (3, 16, 1000, 5008):
      noise = np.random.default_rng(cols).normal(size=(len(means), cols))
      outlier = np.where(np.arange(cols) > 0, noise, 1e15)
      constant = np.broadcast_to(means, noise.shape)
      x = [constant, means * (1 + 1e-4 * noise), noise, outlier]
      x = np.float32(np.concatenate(x))
      want, mean, rstd = _definition(np.float64(x), None, None, eps=1e-6)
      for name, run in ways.items():
        with kit.using("handler if served"):
          y = programs.jit(run)(x)
          if cols % 8 == 0 and name == "handler":
            pieces = programs.jit(run)(jax.device_put(x, split))
            self._check_bound("pieces", pieces, want, mean * rstd, 10)
        y = y if name == "handler" else y[0]
        self._check_bound(name, y, want, mean * rstd, 2)

  def _check_bound(self, way, y, want, shift, units):
    message = f"{way}, {want.shape}"
    np.testing.assert_array_equal(np.asarray(y[:6]), 0, message)
    largest = np.max(np.abs(want), -1, keepdims=True)
    bound = 2**-24 * (16 * largest + units * np.abs(shift)[:, None])
    distance = np.abs(np.float64(y) - want)
    np.testing.assert_array_equal(distance <= bound, True, message)


if __name__ == "__main__":
  absltest.main()
