# SPDX-License-Identifier: Apache-2.0
"""rms_norm: its definition, and what is special about it."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _definition(x, scale, *, eps):
  rstd = 1 / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)
  return x * rstd * (1 if scale is None else scale), rstd[..., 0]


def _gradient(x, scale, rstd, dy, *, eps):
  del eps
  xhat = x * rstd[..., None]
  g = dy * (1 if scale is None else scale)
  dx = rstd[..., None] * (g - xhat * np.mean(g * xhat, -1, keepdims=True))
  return dx, None if scale is None else dy * xhat


class RmsNormTest(testing.OpTest):
  case = Case(
      rms_norm,
      [Operand((16,)), Operand((16,))],
      attributes={"eps": 0.3},
      definition=_definition,
      gradient=_gradient,
  )


if __name__ == "__main__":
  absltest.main()
