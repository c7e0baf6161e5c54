# SPDX-License-Identifier: Apache-2.0
"""layer_norm: its definition, and what is special about it."""

import itertools

from absl.testing import absltest
import numpy as np

from jax_ffi_ops import layer_norm
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


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


if __name__ == "__main__":
  absltest.main()
