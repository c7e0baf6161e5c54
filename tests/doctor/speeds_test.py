# SPDX-License-Identifier: Apache-2.0
"""The doctor times what is in the package, or says why it cannot."""

from unittest import mock

from absl.testing import absltest

from jax_ffi_ops.doctor import levels
from jax_ffi_ops.doctor import speeds
from jax_ffi_ops.doctor import timed
from jax_ffi_ops.timing.cases import CASES


def _timed(ours, plain):
  """Returns what the worker of a level answers."""
  return {"seconds": {"ours": ours, "jax": plain}}


def _line(ours, plain):
  return speeds.line("sort", "8x4", _timed(ours, plain)["seconds"])


class SpeedsTest(absltest.TestCase):

  def test_all(self):
    for name, case in CASES.items():
      with self.subTest(name):
        size = case.sizes[0]
        result = timed.measured(
            f"{name}/{size}/{case.dtypes[0]}/forward", True, 1
        )
        self.assertNotIn("error", result)
        self.assertRegex(
            speeds.line(name, size, result["seconds"]),
            rf"^{name} +{size} +[\d.]+ ms, jax +[\d.]+ ms: +[\d.]+× as fast",
        )

  def test_typical_sizes(self):
    for case in CASES.values():
      self.assertIn(case.typical or case.sizes[-1], case.sizes)

  def test_ours_alone(self):
    result = timed.measured("sort/8x4/float32/forward")
    self.assertEqual(list(result["seconds"]), ["ours"])

  def test_what_cannot_be_timed(self):
    top_k = timed.measured("top_k/8x8x50/float32/forward", True)["error"]
    self.assertRegex(top_k, "Error: .*k")
    unknown = timed.measured("unknown/8x8/float32/forward", True)["error"]
    self.assertEqual(unknown, "KeyError: 'unknown'")

  def test_other_process(self):
    with mock.patch.dict(CASES, unknown=CASES["sort"]):  # Not in that process.
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
    workers[3].ask.return_value = {"error": "it is broken"}
    with mock.patch.object(levels, "workers") as start:
      start.return_value.__enter__.return_value = workers
      _, (line, state), (problem, is_well) = speeds.lines(["sort"])
    self.assertRegex(line, "^sort .* ms, jax .*× as fast")
    self.assertTrue(state)
    self.assertEqual(problem, "  sort at a lower level: it is broken")
    self.assertFalse(is_well)

  def test_a_process_for_each_level(self):
    own, *lower = levels.levels()
    told = ", ".join(
        rf"level {own} is [\d.]+× as fast as {level}" for level in lower
    )
    told = f"; {told}" if lower else ""
    _, (line, state), *_ = speeds.lines(["gae"])
    self.assertTrue(state)
    self.assertRegex(
        line,
        r"^gae +1024x256 +[\d.]+ ms, jax +[\d.]+ ms: +[\d.]+× as fast"
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
    calm = _line([0.001] * 3, [0.002, 0.0021, 0.0022])
    self.assertEndsWith(
        calm,
        "    1.000 ms, jax     2.100 ms:    2.1× as fast (2.0 to 2.1)",
    )
    wild = _line([0.001, 0.01, 0.001], [0.002] * 3)
    self.assertEndsWith(wild, "× as fast (1.1 to 2.0, noisy)")

  def test_levels(self):
    """A lower level that is faster is an error, and the variable is named."""

    def compared(milliseconds):
      workers = {level: mock.Mock() for level in milliseconds}
      for level, worker in workers.items():
        time = milliseconds[level] / 1e3
        worker.ask.side_effect = lambda _, both, *__, time=time: (
            _timed([time] * 3, [time] * 3)
            if both
            else {"seconds": {"ours": [2 * time, time]}}
        )
      with mock.patch.object(levels, "workers") as made:
        made.return_value.__enter__.return_value = workers
        return list(speeds.lines(["sort"]))[1:]

    ((line, state),) = compared({4: 1.0, 3: 1.1, 1: 5.0})
    self.assertTrue(state)
    self.assertEndsWith(
        line, "; level 4 is 1.10× as fast as 3, level 4 is 5.00× as fast as 1"
    )
    _, (line, state) = compared({4: 5.0, 3: 1.0, 1: 6.0})
    self.assertFalse(state)
    self.assertIn("sort is faster with XLA_FFI_OPS_CPU_LEVEL=3", line)
    ((line, state),) = compared({0: 1.0})
    self.assertTrue(state)
    self.assertNotIn("level", line)


if __name__ == "__main__":
  absltest.main()
