# SPDX-License-Identifier: Apache-2.0
"""The doctor times what is in the package, or says why it cannot."""

from absl.testing import absltest

from jax_ffi_ops import speed_cases
from jax_ffi_ops import speeds


class SpeedsTest(absltest.TestCase):

  def test_all(self):
    names = sorted(speed_cases.CASES)
    for name, (line, state) in zip(
        names, speeds.timed(names, most=64, seconds=0), strict=True
    ):
      with self.subTest(name):
        self.assertTrue(state, line)
        self.assertRegex(
            line,
            rf"^{name} +[\dx]+ +[\d.]+ ms, jax +[\d.]+ ms: +[\d.]+ times",
        )

  def test_what_cannot_be_timed(self):
    top_k, unknown = speeds.timed(["top_k", "unknown"], most=8, seconds=0)
    self.assertRegex(top_k[0], "^top_k: .*Error: .*k")
    self.assertEqual(unknown, ("unknown: KeyError: 'unknown'", False))

  def test_other_process(self):
    self.assertEqual(
        list(speeds.lines(["unknown"])),
        [("unknown: KeyError: 'unknown'", False)],
    )
    late = list(speeds.lines(["sort", "argsort"], seconds=0.001))
    self.assertEqual(
        late,
        [
            (f"{name}: timing it did not return within 0.001 s", False)
            for name in ("sort", "argsort")
        ],
    )


if __name__ == "__main__":
  absltest.main()
