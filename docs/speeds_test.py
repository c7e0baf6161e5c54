# SPDX-License-Identifier: Apache-2.0
"""The picture of speed-ups is that of the page of measurements."""

import pathlib

from absl.testing import absltest
import speeds

_SAVED = pathlib.Path(__file__).with_name("speeds.svg")


class SpeedsTest(absltest.TestCase):

  def test_picture(self):
    self.assertEqual(
        _SAVED.read_text("utf-8"),
        speeds.draw(),
        "run bazel run //docs:speeds > docs/speeds.svg",
    )

  def test_speed_ups(self):
    self.assertEqual(speeds.numbers(["7.5× (3)", "", "12×", "4"]), [7.5, 12])
    self.assertLen(speeds.speed_ups("sort"), 4)
    self.assertEmpty(speeds.speed_ups("no_such_function"))


if __name__ == "__main__":
  absltest.main()
