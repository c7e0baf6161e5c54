# SPDX-License-Identifier: Apache-2.0
"""All three ways find the targets, and agree with the filter in float64."""

from absl.testing import absltest
import jax
import numpy as np
import tracking

_N = 20  # In all tests: programs are compiled once.


def _filtered(x, seen):
  """The filter of one target in NumPy."""
  move = np.eye(6) + 0.1 * np.eye(6, k=3)
  push = np.concatenate([0.005 * np.eye(3), 0.1 * np.eye(3)])
  noise = np.diag(np.square([0.5, 0.01, 0.01]))
  p = np.eye(6)
  for z in seen:
    x, p = move @ x, move @ p @ move.T + 0.09 * push @ push.T
    flat, distance = np.hypot(x[0], x[1]), np.linalg.norm(x[:3])
    expected = [distance, np.arctan2(x[1], x[0]), np.arctan2(x[2], flat)]
    h = np.zeros((3, 6))
    h[0, :3] = x[:3] / distance
    h[1, :2] = np.array([-x[1], x[0]]) / flat**2
    h[2, :2] = -x[2] * x[:2] / (flat * distance**2)
    h[2, 2] = flat / distance**2
    gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + noise)
    x, p = x + gain @ (z - expected), p - gain @ h @ p
  return x, p


class TrackingTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.guess, self.seen, self.last = tracking.problem(jax.random.key(0), _N)

  def test_same_tracks(self):
    for name, track in tracking.TRACKERS.items():
      with self.subTest(name):
        x, p = track(self.guess, self.seen)
        for i in range(_N):
          wanted = _filtered(
              np.float64(self.guess[i]), np.float64(self.seen[i])
          )
          # 50 steps in float32, of numbers up to 100.
          np.testing.assert_allclose(x[i], wanted[0], atol=2e-3)
          np.testing.assert_allclose(p[i], wanted[1], atol=2e-4)

  def test_it_finds_the_targets(self):
    x, _ = tracking.TRACKERS["jax_ffi_ops.compile"](self.guess, self.seen)
    error = np.linalg.norm(x[:, :3] - self.last[:, :3], axis=1)
    self.assertLess(np.mean(error), 0.5)  # A hundredth of 85 m is 0.85 m.

  def test_times(self):
    for milliseconds in tracking.times(_N, rounds=1).values():
      self.assertGreater(milliseconds, 0)


if __name__ == "__main__":
  absltest.main()
