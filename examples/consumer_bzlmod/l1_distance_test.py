# SPDX-License-Identifier: Apache-2.0
"""The op under every transformation, and beside an op of xla_ffi_ops."""

from absl.testing import absltest
import jax
from l1_distance import l1_distance
import numpy as np
from scipy.spatial import distance

from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit import testing


class L1DistanceTest(testing.OpTest):
  case = testing.Case(
      l1_distance,
      [testing.Operand((5,)), testing.Operand((5,))],
      definition=lambda a, b: np.sum(np.abs(a - b), -1),
  )

  def test_of_rms_norms(self):
    a, b = np.random.default_rng(0).normal(size=(2, 100)).astype(np.float32)
    y = jax.jit(lambda a, b: l1_distance(rms_norm(a), rms_norm(b)))(a, b)
    norm = lambda x: x / np.sqrt(np.mean(x * x) + 1e-6)
    np.testing.assert_allclose(
        y, distance.cityblock(norm(a), norm(b)), rtol=1e-6
    )


if __name__ == "__main__":
  absltest.main()
