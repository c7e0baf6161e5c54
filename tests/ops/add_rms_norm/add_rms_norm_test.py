# SPDX-License-Identifier: Apache-2.0
"""add_rms_norm: its definition, and what is special about it."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops import add_rms_norm
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _definition(x, residual, scale, *, eps):
  total = (x + residual).through(x.storage)
  rstd = 1 / np.sqrt(np.mean(total * total, -1, keepdims=True) + eps)
  y = total * rstd * (1 if scale is None else scale)
  return y, total, rstd[..., 0]


def _gradient(scale, sum, rstd, dy, dsum, *, eps):
  del eps
  xhat = sum * rstd[..., None]
  g = dy * (1 if scale is None else scale)
  dx = rstd[..., None] * (g - xhat * np.mean(g * xhat, -1, keepdims=True))
  return dx + dsum, dx + dsum, None if scale is None else dy * xhat


class AddRmsNormTest(testing.OpTest):
  case = Case(
      add_rms_norm,
      [Operand((16,)), Operand((16,)), Operand((16,))],
      attributes={"eps": 0.3},
      definition=_definition,
      gradient=_gradient,
  )


if __name__ == "__main__":
  absltest.main()
