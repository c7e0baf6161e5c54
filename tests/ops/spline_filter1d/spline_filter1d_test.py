# SPDX-License-Identifier: Apache-2.0
"""spline_filter1d: one pole of it. //tests/composed:splines_test has SciPy's."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import spline_filter1d
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _sum_of(x, at, weights):
  part = x[..., at : at + len(weights)]
  total = 0 * np.sum(x[..., :0], -1)
  for i in range(part.shape[-1]):
    total = total + part[..., i] * weights[i]
  return total


def _definition(x, *, pole, gain, before, before_at, behind, behind_at):
  n = x.shape[-1]
  y, c = [], []
  for t in range(n):
    last = y[-1] if y else _sum_of(x, before_at, before)
    y.append(pole * last + x[..., t])
  if not n:
    return x
  end = gain * _sum_of(np.stack(y, -1), behind_at, behind)
  for last in reversed(y):
    end = pole * end - pole * gain * last
    c.append(end)
  return np.stack(c[::-1], -1)


class SplineFilterTest(testing.OpTest):
  case = Case(
      kit.ops_of(spline_filter1d)[0],
      [Operand((16,))],
      attributes={
          "pole": -0.3,
          "gain": 6.1,
          "before": [0.9, -0.3, 0.1],
          "before_at": 1,
          "behind": [0.3, 0.1],
          "behind_at": 2,
      },
      trailing=1,
      definition=_definition,
  )


class SplineFilterCallsTest(testing.ValuesTest):
  case = SplineFilterTest.case


if __name__ == "__main__":
  absltest.main()
