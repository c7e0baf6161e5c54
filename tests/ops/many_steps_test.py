# SPDX-License-Identifier: Apache-2.0
"""Scans of 2^24 steps, whose errors stay within what their arithmetic allows."""

from absl.testing import absltest
import jax
import numpy as np
from scipy import signal

from jax_ffi_ops import cumlogsumexp
from jax_ffi_ops import cummax
from jax_ffi_ops import cumprod
from jax_ffi_ops import cumsum
from jax_ffi_ops import linear_recurrence
from jax_ffi_ops.kit.testing.exactness.rounding import gamma

_STEPS = 1 << 24
_FLOAT = gamma(1, np.float32)


class ManyStepsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.rng = np.random.default_rng(0)

  def _check(self, y, want, errors):
    excess = np.abs(np.asarray(y, want.dtype) - want) - errors
    self.assertLess(np.max(excess), 0)

  def test_sums(self):
    x = self.rng.normal(size=_STEPS).astype(np.float32)
    want = x.cumsum(dtype=np.longdouble)
    sizes = np.abs(x).cumsum(dtype=np.float64)
    errors = gamma(_STEPS, np.float64) * sizes + _FLOAT * np.abs(want) + 1e-37
    self._check(cumsum(x), want, errors)

  def test_products(self):
    x = (1 + self.rng.normal(size=_STEPS) / 2**12).astype(np.float32)
    want = x.cumprod(dtype=np.longdouble)
    self._check(cumprod(x), want, (gamma(_STEPS, np.float64) + _FLOAT) * want)

  def test_maxima(self):
    x = self.rng.normal(size=_STEPS).astype(np.float32)
    np.testing.assert_array_equal(cummax(x), np.maximum.accumulate(x))

  def test_logarithms_of_sums(self):
    """As in cumlogsumexp_test: here the largest element is at most 6."""
    x = self.rng.uniform(-6, 6, _STEPS).astype(np.float32)
    want = np.log(np.exp(x, dtype=np.longdouble).cumsum())
    roundings = (4 + 2 + np.log(_STEPS)) * 1.6 + 1 + 4 * (2 + np.log(_STEPS))
    error = gamma(roundings, np.float32) + gamma(_STEPS, np.float64)
    self._check(cumlogsumexp(x), want, error + _FLOAT * np.abs(want))

  def test_recurrence(self):
    """Each step has two roundings, and the factor shrinks earlier ones."""
    a = np.float32(0.999)
    b = self.rng.normal(size=_STEPS).astype(np.float32)
    want = signal.lfilter([1], [1, -np.float64(a)], b.astype(np.float64))
    largest = np.max(np.abs(want)) * (1 + 1e-3)
    self._check(
        linear_recurrence(a, b), want, 2 * _FLOAT * largest / (1 - float(a))
    )

  def test_on_the_unit_circle(self):
    """A product of complex numbers has an error of less than four roundings."""
    a = np.exp(1j)
    b = np.zeros(_STEPS, complex)
    b[0] = 1
    want = np.exp(1j * np.arange(_STEPS, dtype=np.longdouble))
    # The factor itself is rounded, and each step rounds again.
    steps = np.arange(1, _STEPS + 1)
    self._check(
        linear_recurrence(a, b), want, steps * float(gamma(5, np.float64))
    )


if __name__ == "__main__":
  absltest.main()
