# SPDX-License-Identifier: Apache-2.0
"""layer_norm: its definition, and what is special about it."""

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


if __name__ == "__main__":
  absltest.main()
