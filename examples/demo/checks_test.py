# SPDX-License-Identifier: Apache-2.0
"""Tries the demo's checks on made-up curves."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

import checks


class ChecksTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("all_hold", {}, [True, True, True]),
      ("early_difference", {"early": 2e-5}, [False, True, True]),
      ("final_difference", {"final": 0.03}, [True, False, True]),
      ("learned_little", {"entropy": 2.4}, [True, True, False]),
      ("no_entropy", {"entropy": 0.0}, [True, True, False]),
      ("few_steps", {"steps": 149, "entropy": 2.4}, [True, True, None]),
      ("not_finite", {"early": np.nan, "final": np.nan}, [False, False, False]),
  )
  def test_check(self, case, expected):
    curve = np.linspace(5, 2, case.get("steps", 150))
    other = curve.copy()
    other[checks.FIRST - 1] *= 1 + case.get("early", 5e-6)
    other[-20:] *= 1 + case.get("final", 0.01)
    results = checks.check(other, curve, "float32", case.get("entropy", 3.0))
    self.assertEqual([result.holds for result in results], expected)


if __name__ == "__main__":
  absltest.main()
