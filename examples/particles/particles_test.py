# SPDX-License-Identifier: Apache-2.0
"""The flock aligns, and both ways to sort give the same flock."""

from absl.testing import absltest
import jax
import numpy as np
import particles

_N = 1000


def _after(steps, argsort):
  flock = particles.Flock.random(_N)
  for key in jax.random.split(jax.random.key(0), steps):
    flock = particles.step(flock, key, argsort=argsort)
  return flock


class ParticlesTest(absltest.TestCase):

  def test_same_flock(self):
    ours, theirs = (
        _after(5, argsort) for argsort in particles.ARGSORTS.values()
    )
    np.testing.assert_array_equal(ours.position, theirs.position)
    np.testing.assert_array_equal(ours.angle, theirs.angle)

  def test_one_step_by_hand(self):
    flock, key = particles.Flock.random(_N), jax.random.key(2)
    side = 11  # The root of 1000 / 8, rounded down.
    cells = [(int(y * side), int(x * side)) for x, y in flock.position.tolist()]
    headings = np.exp(1j * np.float64(flock.angle))
    sums = {}
    for cell, heading in zip(cells, headings):
      sums[cell] = sums.get(cell, 0) + heading
    expected = [np.angle(sums[cell]) for cell in sorted(cells)]
    noise = jax.random.uniform(key, (_N,), minval=-0.5, maxval=0.5)
    found = particles.step(flock, key, argsort=jax.numpy.argsort).angle - noise
    apart = np.angle(np.exp(1j * (np.float64(found) - expected)))
    # The direction of a short sum is less certain.
    lengths = np.abs([sums[cell] for cell in sorted(cells)])
    np.testing.assert_array_less(np.abs(apart), 1e-5 + 1e-5 / lengths)

  def test_it_aligns(self):
    argsort = particles.ARGSORTS["jax_ffi_ops.argsort"]
    self.assertLess(particles.Flock.random(_N).order, 0.2)
    self.assertGreater(_after(300, argsort).order, 0.8)

  def test_times(self):
    for milliseconds in particles.times(64, rounds=1).values():
      self.assertGreater(milliseconds, 0)


if __name__ == "__main__":
  absltest.main()
