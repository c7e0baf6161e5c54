# SPDX-License-Identifier: Apache-2.0
"""A report measures what it has not, and writes what comes of it."""

import json
import os
import pathlib
import subprocess

from absl.testing import absltest

_REPORT = pathlib.Path(__file__).with_name("report")
_PAGE = """<!-- benchmarks: table -->
<!-- /benchmarks -->
"""


class ReportTest(absltest.TestCase):

  def test_report(self):
    workspace = pathlib.Path(self.create_tempdir().full_path)
    page = workspace / "docs" / "measurements.md"
    page.parent.mkdir()
    page.write_text(_PAGE)
    results = workspace / "results" / "results.jsonl"

    def report(*options):
      command = [_REPORT, f"--folder={results.parent}", *options]
      env = os.environ | {"BUILD_WORKSPACE_DIRECTORY": str(workspace)}
      subprocess.run(command, env=env, check=True)

    lines = "softmax/8x4/float32/forward/*"
    report("--rounds=1", "--lines=" + lines)
    self.assertFalse((workspace / "docs" / "benchmarks").exists())
    before = results.read_text("utf-8").count('"part"')
    report(
        "--rounds=1",
        f"--lines={lines},softmax/8x4/float32/both/call",
        "--write",
    )
    parts = results.read_text("utf-8").count('"part"')
    self.assertEqual(parts, before // 2 * 3)  # Nothing was measured again.

    folder = workspace / "docs" / "benchmarks"
    found = json.loads((folder / "cpu.json").read_text("utf-8"))
    timings = [(line["pass"], line["timing"]) for line in found["lines"]]
    self.assertEqual(
        timings[:3],
        [("forward", "program"), ("forward", "call"), ("both", "call")],
    )
    self.assertEqual({line["heap"] for line in found["lines"]}, {"clean"})
    self.assertIn("| `softmax` | 8x4 | float32 | ", page.read_text("utf-8"))
    page.write_text(_PAGE)
    report("--render")
    self.assertIn("softmax", page.read_text("utf-8"))

  def test_rehearsals_keep_nothing_for_a_report(self):
    folder = self.create_tempdir().full_path
    env = {"BUILD_WORKSPACE_DIRECTORY": folder, "TMPDIR": folder}
    for _ in range(2):  # Of no line, which is soon done.
      done = subprocess.run(
          [_REPORT, "--lines=?"], env=os.environ | env, check=False
      )
      self.assertEqual(done.returncode, 1)
    names = os.listdir(folder)
    self.assertLen(names, 2)
    for name in names:
      self.assertStartsWith(name, "xla_ffi_ops_rehearsal_")


if __name__ == "__main__":
  absltest.main()
