# SPDX-License-Identifier: Apache-2.0
"""The kernels of Pallas compute what the ops do."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

import catalog
import jax_peers


class JaxPeersTest(parameterized.TestCase):

  @parameterized.parameters("rms_norm", "layer_norm", "softmax")
  def test_kernels(self, op):
    found = jax_peers.pallas(op, interpret=True)
    known = catalog.CASES[op]
    attributes = known.attributes(3, 200)
    ((operands, _),) = known.make_sets("3x200", "float32", 1)
    for peer in found.values():
      np.testing.assert_allclose(
          peer(*operands, **attributes),
          known.peers["jax.numpy"](*operands, **attributes),
          rtol=1e-4,
          atol=1e-5,
      )
    # Without a GPU they are no peers.
    self.assertNotIn("pallas", known.peers)


if __name__ == "__main__":
  absltest.main()
