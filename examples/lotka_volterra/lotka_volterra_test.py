# SPDX-License-Identifier: Apache-2.0
"""The fit finds the rates, with the handler as without it."""

from absl.testing import absltest
import fit
import numpy as np


class FitTest(absltest.TestCase):

  def test_finds_the_rates(self):
    counted = fit.counts(3)
    found = fit.fit(counted, 200, fit.lotka_volterra)
    # 2000 counts that are 5 % off say each rate to 1 % or better.
    np.testing.assert_allclose(found, [fit.RATES] * 3, rtol=0.02)
    expected = fit.fit(counted, 200, fit.SOLVERS["jax"])
    np.testing.assert_allclose(found, expected, rtol=1e-3)

  def test_times(self):
    for milliseconds in fit.times(2, rounds=1).values():
      self.assertGreater(milliseconds, 0)


if __name__ == "__main__":
  absltest.main()
