# SPDX-License-Identifier: Apache-2.0
"""Runs the demo as a user does, with few starts and steps."""

import pathlib
import re
import subprocess

from absl.testing import absltest
from absl.testing import parameterized

_DEMO = pathlib.Path(__file__).with_name("demo")


class DemoTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _run(self, *flags):
    done = subprocess.run(
        [_DEMO, *flags],
        cwd=self.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr

  def test_quick(self):
    status, out, err = self._run("--quick", "--plot=fits.png")
    self.assertEqual((status, err), (0, ""))
    lines = out.splitlines()
    self.assertEqual(
        lines[0], "1868 weeks from 1958 to 1994; 8 starts, 3 steps"
    )
    losses = [float(re.search(r"([\d.]+) nats", x)[1]) for x in lines[1:3]]
    # In float32, 1868 steps of a filter round differently.
    self.assertAlmostEqual(*losses, delta=1e-3)
    self.assertRegex(lines[3], r"^speed-up +\d+\.\d×$")
    plot = (self.folder / "fits.png").read_bytes()
    self.assertEqual(plot[:8], b"\x89PNG\r\n\x1a\n")

  @parameterized.parameters(
      "--steps=0", "--starts=-3", "--steps=ten", "--plot=fits.txt", "--what"
  )
  def test_wrong_flag(self, flag):
    status, out, err = self._run(flag)
    self.assertEqual((status, out), (2, ""))
    self.assertStartsWith(err, "usage: demo")

  def test_wrong_file(self):
    status, out, err = self._run("--plot=missing/fits.png")
    self.assertEqual((status, out), (1, ""))
    self.assertEqual(
        err,
        "demo: cannot write missing/fits.png: No such file or directory\n",
    )


if __name__ == "__main__":
  absltest.main()
