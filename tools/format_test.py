# SPDX-License-Identifier: Apache-2.0
"""Which files format.py takes, and what it reports, with stand-ins as tools."""

import contextlib
import io
import pathlib
import shutil
import subprocess
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

import format as formatter

# As a formatter: capital letters become small; a file with "wrong" is refused.
_TOOL = """#!/bin/sh
for file; do
  case $file in -*) continue;; esac
  tr A-Z a-z <"$file" >"$file.new" && mv "$file.new" "$file"
  ! grep -q wrong "$file" || exit 4
done
"""


class FormatTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    tool = self.root / "tool"
    tool.write_text(_TOOL)
    tool.chmod(0o755)
    self.tools = (str(tool),) * 3

  def _write(self, **files):
    for name, text in files.items():
      self.root.joinpath(name + ".bzl").write_text(text)
    return [pathlib.Path(name + ".bzl") for name in files]

  def _check(self, files):
    with contextlib.redirect_stdout(io.StringIO()) as output:
      clean = formatter.check(self.tools, self.root, files)
    return clean, output.getvalue()

  @parameterized.parameters(
      ("a/b.cc", "c++"),
      ("b.h", "c++"),
      ("b.cu", "c++"),
      ("b.py", "python"),
      ("b.bzl", "starlark"),
      ("a/BUILD.bazel", "starlark"),
      ("WORKSPACE", "starlark"),
      ("tools.lock", None),
      ("README.md", None),
      ("run", None),
  )
  def test_kind(self, path, expected):
    self.assertEqual(formatter.kind(pathlib.Path(path)), expected)

  def test_one_command_for_all_files_of_a_tool(self):
    files = [pathlib.Path(name) for name in ("a.cc", "b.py", "c.h", "d.py")]
    found = formatter.commands(("cf", "ruff", "bf"), self.root, files)
    names = [command[-2:] for command in found]
    self.assertEqual(
        names, [["a.cc", "c.h"], ["b.py", "d.py"], ["b.py", "d.py"]]
    )

  def test_format_writes(self):
    files = self._write(a="A\n", b="b\n")
    self.assertTrue(formatter.run(self.tools, self.root, files, self.root))
    self.assertEqual(self.root.joinpath("a.bzl").read_text(), "a\n")

  def test_check_writes_nothing_and_prints_the_difference(self):
    clean, output = self._check(self._write(a="A\n", b="b\n"))
    self.assertFalse(clean)
    self.assertIn("-A\n+a\n", output)
    self.assertNotIn("b.bzl", output)
    self.assertEqual(self.root.joinpath("a.bzl").read_text(), "A\n")

  def test_check_of_clean_files(self):
    self.assertEqual(self._check(self._write(a="a\n")), (True, ""))

  def test_mistake_in_a_file(self):
    files = self._write(a="wrong\n")
    self.assertEqual(self._check(files), (False, ""))
    self.assertFalse(formatter.run(self.tools, self.root, files, self.root))

  @absltest.skipIf(not shutil.which("git"), "needs git")
  def test_listed(self):
    subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
    self.root.joinpath("folder").mkdir()
    names = ("tracked", "ignored", "deleted", "folder/new")
    self._write(**dict.fromkeys(names, ""))
    self.root.joinpath(".gitignore").write_text("ignored.bzl\ntool\n")
    command = ["git", "add", "tracked.bzl", "deleted.bzl"]
    subprocess.run(command, cwd=self.root, check=True)
    self.root.joinpath("deleted.bzl").unlink()
    listed = formatter.listed(self.root, self.root)
    self.assertCountEqual(map(str, listed), ["folder/new.bzl", "tracked.bzl"])
    listed = formatter.listed(self.root, self.root / "folder", ["."])
    self.assertEqual([*map(str, listed)], ["folder/new.bzl"])

  def test_listed_outside_of_git(self):
    failed = subprocess.CompletedProcess([], 128, "")
    with mock.patch.object(subprocess, "run", return_value=failed):
      with self.assertRaisesRegex(SystemExit, "git does not know"):
        formatter.listed(self.root, self.root)


if __name__ == "__main__":
  absltest.main()
