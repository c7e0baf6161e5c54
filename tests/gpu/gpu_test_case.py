# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

from absl.testing import parameterized
import jax


def has_gpu() -> bool:
  return jax.default_backend() == "gpu"


def at_most(cases, count):
  """Returns the cases; on the CPU so many of them, evenly spread."""
  cases = list(cases)
  return cases if has_gpu() else cases[:: max(1, len(cases) // count)]


class GpuTestCase(parameterized.TestCase):

  def need_gpu(self):
    """Ends a test of what no CPU has; how many did is told by run.py."""
    if not has_gpu():
      self.skipTest("needs a GPU")
