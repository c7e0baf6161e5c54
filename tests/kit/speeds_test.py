# SPDX-License-Identifier: Apache-2.0
"""The doctor times what is in the package, or says why it cannot."""

from unittest import mock

from absl.testing import absltest

from jax_ffi_ops.doctor import levels
from jax_ffi_ops.doctor import speed_cases
from jax_ffi_ops.doctor import speeds


def _timed(ours, plain):
  """Returns what the worker of a level answers."""
  seconds = [list(pair) for pair in zip(ours, plain)]
  return {"largest": "8x4", "seconds": seconds}


class SpeedsTest(absltest.TestCase):

  def test_all(self):
    for name in sorted(speed_cases.CASES):
      with self.subTest(name):
        result = speeds.times(name, True, 0, most=64)
        self.assertNotIn("error", result)
        self.assertRegex(
            speeds.line(name, result),
            rf"^{name} +[\dx]+ +[\d.]+ ms, jax +[\d.]+ ms: +[\d.]+ times",
        )

  def test_ours_alone(self):
    result = speeds.times("sort", False, 0, most=64)
    self.assertTrue(all(len(row) == 1 for row in result["seconds"]))

  def test_what_cannot_be_timed(self):
    top_k = speeds.times("top_k", True, 0, most=8)["error"]
    self.assertRegex(top_k, "^top_k: .*Error: .*k")
    unknown = speeds.times("unknown", True)["error"]
    self.assertEqual(unknown, "unknown: KeyError: 'unknown'")

  def test_other_process(self):
    load, *lines = speeds.lines(["unknown"])
    self.assertRegex(load[0], r"^Load average [\d.]+ on \d+ cores")
    self.assertEqual(lines, [("unknown: KeyError: 'unknown'", False)])
    load, *late = speeds.lines(["sort", "argsort"], seconds=0.001)
    self.assertEqual(
        late,
        [
            (f"{name}: timing it did not return within 0.001 s", False)
            for name in ("sort", "argsort")
        ],
    )

  def test_an_error_at_a_lower_level(self):
    workers = {4: mock.Mock(), 3: mock.Mock()}
    workers[4].ask.return_value = _timed([1.0, 1.0], [2.0, 2.0])
    workers[3].ask.return_value = {"error": "sort: it is broken"}
    with mock.patch.object(levels, "workers") as start:
      start.return_value.__enter__.return_value = workers
      _, (line, state), (problem, is_well) = speeds.lines(["sort"])
    self.assertRegex(line, "^sort .* ms, jax .* times")
    self.assertTrue(state)
    self.assertEqual(problem, "  sort at a lower level: sort: it is broken")
    self.assertFalse(is_well)

  def test_a_process_for_each_level(self):
    own, *lower = levels.levels()
    told = ", ".join(rf"[\d.]+ of {level}'s" for level in lower)
    told = f"; level {own}'s speed: {told}" if lower else ""
    _, (line, state), *_ = speeds.lines(["gae"])
    self.assertTrue(state)
    self.assertRegex(
        line,
        r"^gae +1025x256 +[\d.]+ ms, jax +[\d.]+ ms: +[\d.]+ times as fast"
        rf" \([\d.]+ to [\d.]+(, noisy)?\){told}$",
    )

  def test_load(self):
    self.assertEqual(
        speeds.load(0.4, 2), "Load average 0.40 on 2 cores"
    )  # fmt: skip
    self.assertEqual(
        speeds.load(3, 4),
        "Load average 3.00 on 4 cores: the machine is busy, so the times below"
        " are not reliable",
    )

  def test_spread(self):
    """The ratio is that of a round, and has its quartiles."""
    calm = speeds.line("sort", _timed([0.001] * 3, [0.002, 0.0021, 0.0022]))
    self.assertEndsWith(
        calm,
        "    1.000 ms, jax     2.100 ms:    2.1 times as fast (2.0 to 2.2)",
    )
    wild = speeds.line("sort", _timed([0.001, 0.01, 0.001], [0.002] * 3))
    self.assertEndsWith(wild, "times as fast (0.2 to 2.0, noisy)")

  def test_levels(self):
    """A lower level that is faster is an error, and the variable is named."""

    def compared(milliseconds):
      workers = {level: mock.Mock() for level in milliseconds}
      for level, worker in workers.items():
        time = milliseconds[level] / 1e3
        worker.ask.side_effect = lambda _, both, *__, time=time: (
            _timed([time] * 3, [time] * 3)
            if both
            else {"seconds": [[2 * time], [time]]}
        )
      with mock.patch.object(levels, "workers") as made:
        made.return_value.__enter__.return_value = workers
        return list(speeds.lines(["sort"]))[1:]

    ((line, state),) = compared({4: 1.0, 3: 1.1, 1: 5.0})
    self.assertTrue(state)
    self.assertEndsWith(line, "; level 4's speed: 1.10 of 3's, 5.00 of 1's")
    _, (line, state) = compared({4: 5.0, 3: 1.0, 1: 6.0})
    self.assertFalse(state)
    self.assertIn("sort is faster with XLA_FFI_OPS_CPU_LEVEL=3", line)
    ((line, state),) = compared({0: 1.0})
    self.assertTrue(state)
    self.assertNotIn("level", line)


if __name__ == "__main__":
  absltest.main()
