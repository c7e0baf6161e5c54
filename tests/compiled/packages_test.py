# SPDX-License-Identifier: Apache-2.0
"""Tests that others wrote pass with compiled loops: those of two packages.

Their wheels carry them. What does not apply:

* blackjax: its wheel has no tests.
* optax: most of its tests have no loop, and those of linear algebra need flax.
  The gradient of CTC's loss takes minutes to compile.
* dynamax: one module so far. Tests of whole models compile many large loops.
"""

import os

from absl.testing import absltest
from absl.testing import parameterized
import compiled_loops
import pytest

_MODULES = {
    "dynamax": ["linear_gaussian_ssm.inference_test"],
    "optax": ["assignment._hungarian_algorithm_test"],
}
_PACKAGE = os.environ["PACKAGE"]


class PackagesTest(parameterized.TestCase):

  @parameterized.product(module=_MODULES[_PACKAGE])
  def test_passes(self, module):
    compiled_loops.made.clear()
    options = ["-q", "-p", "no:cacheprovider", "--pyargs"]
    self.assertEqual(pytest.main([*options, f"{_PACKAGE}.{module}"]), 0)
    libraries = [x for f in compiled_loops.made for x in f.libraries]
    self.assertNotEmpty(libraries)


if __name__ == "__main__":
  absltest.main()
