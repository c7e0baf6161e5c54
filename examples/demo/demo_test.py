# SPDX-License-Identifier: Apache-2.0
"""Runs the demo as a user does."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

import demo

_DEMO = pathlib.Path(__file__).with_name("demo")
_STEPS = 25


class DemoTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.text = self.folder / "text.txt"
    self.text.write_text(
        "".join(f"{n} is one more than {n - 1}.\n" for n in range(500))
    )

  def _start(self, *args):
    return subprocess.Popen(
        [_DEMO, *args],
        env=os.environ | {"BUILD_WORKING_DIRECTORY": str(self.folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

  def _run(self, *args):
    process = self._start(*args)
    out, err = process.communicate()
    return process.returncode, out, err

  def test_prints_and_plots_what_it_promises(self):
    status, out, err = self._run(
        "--data=text.txt", f"--steps={_STEPS}", "--plot=losses.png"
    )
    self.assertEqual((status, err), (0, ""), out)

    with self.subTest("handlers"):
      ours, plain = re.findall(
          r"compiled step with (?:rms_norm|jax\.numpy):\n((?: {12}.*\n)+)", out
      )
      self.assertEqual(
          set(re.findall(r"calls of (\w+)", ours)),
          {"xla_ffi_ops_rms_norm_fwd", "xla_ffi_ops_rms_norm_bwd"},
      )
      self.assertEqual(plain.split(), ["none"])

    with self.subTest("losses"):
      rows = re.findall(r"(?m)^ +(\d+) +([\d.]+) +([\d.]+) +[\d.e+-]+$", out)
      self.assertEqual([int(row[0]) for row in rows], [1, 2, 5, 10, 20, _STEPS])
      losses = np.array([row[1:] for row in rows], float)
      np.testing.assert_allclose(losses[:, 0], losses[:, 1], rtol=1e-5)
      self.assertLess(losses[-1, 0], 0.8 * losses[0, 0])

    with self.subTest("checks"):
      marks = re.findall(r"(?m)^  (ok|FAILED|-) ", out)
      self.assertEqual(marks, ["ok", "ok", "-"])

    with self.subTest("times"):
      times = re.findall(
          r"(?m)^  (\S.*\S) +([\d.]+) [mu]s +([\d.]+) [mu]s +([\d.]+)×$", out
      )
      self.assertEqual(
          [row[0] for row in times],
          ["training step", "norm, forward", "norm, backward"],
      )
      for _, ours, plain, ratio in times:
        np.testing.assert_allclose(
            float(plain) / float(ours), float(ratio), rtol=0.05
        )

    with self.subTest("generated lines"):
      self.assertGreaterEqual(len(re.findall(r"(?m)^  \| .*\S", out)), 1)

    with self.subTest("plot"):
      plot = (self.folder / "losses.png").read_bytes()
      self.assertEqual(plot[:8], b"\x89PNG\r\n\x1a\n")

  @parameterized.parameters(
      "--steps=0",
      "--steps=-3",
      "--steps=ten",
      "--dtype=int8",
      "--seed=-1",
      "--plot=losses.txt",
      "--what",
  )
  def test_wrong_flag(self, flag):
    status, out, err = self._run(flag)
    self.assertEqual((status, out), (2, ""))
    self.assertStartsWith(err, "usage: demo")

  @parameterized.parameters(
      ("--data=missing.txt", "cannot use missing.txt: No such file"),
      ("--data=.", "cannot use .: Is a directory"),
      ("--data=empty.txt", "cannot use empty.txt: 0 bytes, but 65 or more"),
      ("--data=short.txt", "cannot use short.txt: 64 bytes, but 65 or more"),
      ("--plot=missing/losses.png", "cannot write missing/losses.png: No such"),
  )
  def test_wrong_file(self, flag, message):
    (self.folder / "empty.txt").write_text("")
    (self.folder / "short.txt").write_text("x" * 64)
    status, out, err = self._run(flag)
    self.assertEqual((status, out), (1, ""))
    self.assertStartsWith(err, f"demo: {message}")
    self.assertEqual(err.count("\n"), 1, err)

  def test_interrupt_leaves_no_traceback(self):
    process = self._start("--data=text.txt", "--plot=losses.png")
    self.assertStartsWith(process.stdout.readline(), "Text")
    time.sleep(1)  # Into the compilation.
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    self.assertEqual((process.returncode, err), (-signal.SIGINT, ""))
    self.assertFalse((self.folder / "losses.png").exists())

  def test_false_claim_fails(self):
    experiment = mock.MagicMock()
    experiment.run.return_value = {}, ["the curves differ", "so they do"]
    modules = {
        "corpus": mock.MagicMock(),
        "experiment": experiment,
        "language_model": mock.MagicMock(),
    }
    with (
        mock.patch.dict(sys.modules, modules),
        mock.patch.object(sys, "argv", ["demo"]),
        self.assertRaises(SystemExit) as caught,
    ):
      demo.main()
    # As sys.exit prints it on stderr, with status 1.
    self.assertEqual(
        caught.exception.code, "demo: FAILED: the curves differ; so they do"
    )


if __name__ == "__main__":
  absltest.main()
