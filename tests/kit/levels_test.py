# SPDX-License-Identifier: Apache-2.0
"""Levels of the CPU are compared fairly, each in a process that has it."""

import itertools
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.doctor import levels
from jax_ffi_ops.kit import cpu


class LevelsTest(parameterized.TestCase):

  @parameterized.parameters(
      (4, [4, 3, 1]), (3, [3, 1]), (1, [1]), (0, [0])
  )  # fmt: skip
  def test_levels(self, own, wanted):
    with mock.patch.object(cpu, "cpu_level", return_value=own):
      self.assertEqual(levels.levels(), wanted)

  def test_workers(self):
    """Each has its level, and stays until it crashes."""
    with levels.workers(60, None, "levels_worker", "level") as workers:
      self.assertEqual(list(workers), levels.levels())
      for level, worker in workers.items():
        first, again = worker.ask(False), worker.ask(False)
        self.assertEqual(first[0], level)
        self.assertEqual(again, first)
      with self.assertRaisesRegex(isolated.Ended, r"by exit\(3\)"):
        worker.ask(True)
      other = worker.ask(False)
      self.assertEqual(other[0], first[0])
      self.assertNotEqual(other[1], first[1])

  def compared(self, *times, rounds=3):
    """Compares levels whose calls take so long, again and again."""
    clocks = dict(zip((4, 3, 1), (itertools.cycle(x).__next__ for x in times)))
    return levels.compare(clocks, rounds)

  def test_medians(self):
    """Of the ratios in a round."""
    self.assertEqual(
        self.compared([2, 9, 4], [2, 3, 4], [4, 6, 8]),
        [(4, 3, 1), (4, 1, 2), (3, 1, 2)],
    )

  def test_what_repeats_fails(self):
    (comparison,) = self.compared([5, 5, 5], [4, 3.9, 3])
    self.assertTrue(comparison.fails)
    self.assertEqual(comparison.speedup, 3.9 / 5)
    (comparison,) = self.compared([5, 5, 5], [4, 4, 4])
    self.assertFalse(comparison.fails)

  def test_noise_does_not_fail(self):
    """Another program disturbs the first rounds, but not all."""
    (comparison,) = self.compared([2, 2, 2] + [1] * 9, [1] * 12)
    self.assertEqual(comparison, (4, 3, 1))
    self.assertFalse(comparison.fails)


if __name__ == "__main__":
  absltest.main()
