# SPDX-License-Identifier: Apache-2.0
"""The kernels of Pallas compute what the ops do."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

import entry
import pallas_peers


class PallasPeersTest(parameterized.TestCase):

  @parameterized.parameters(
      ("rms_norm", 1e-6), ("layer_norm", 1e-6), ("softmax", None)
  )
  def test_kernels(self, op, eps):
    found = pallas_peers.peers(op, eps, interpret=True)
    known = entry.load(op)
    ((operands, _),) = known.make_sets("3x200", "float32", 1)
    for peer in found.values():
      np.testing.assert_allclose(
          peer(*operands),
          known.peers["jax.numpy"](*operands),
          rtol=1e-4,
          atol=1e-5,
      )
    # Without a GPU they are no peers.
    self.assertNotIn("pallas", known.peers)


if __name__ == "__main__":
  absltest.main()
