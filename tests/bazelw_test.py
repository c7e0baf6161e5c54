# SPDX-License-Identifier: Apache-2.0
"""bazelw picks a Bazel that can build this repository."""

import os
import pathlib
import shutil
import subprocess

from absl.testing import absltest
from absl.testing import parameterized

_BAZELW = pathlib.Path(__file__).parent.parent / "bazelw"
_FAKE = """\
#!/bin/sh
[ "$1" = --version ] && { echo "%s"; exit; }
echo "$@"
"""


class BazelwTest(parameterized.TestCase):

  def _fake(self, name: str, version: str) -> str:
    """Makes a program that says that it is this version; returns its folder."""
    folder = self.create_tempdir()
    path = folder.create_file(name, _FAKE % version).full_path
    os.chmod(path, 0o755)
    return folder.full_path

  def _run(self, *folders: str, **variables: str):
    # The machine's folders may have a Bazel.
    tools = self.create_tempdir()
    for name in ("bash", "realpath", "sh"):
      os.symlink(shutil.which(name), f"{tools.full_path}/{name}")
    # Without HOME, a Bazel that is not found is not installed.
    return subprocess.run(
        [_BAZELW, "build", "//..."],
        env={"PATH": ":".join([*folders, tools.full_path]), **variables},
        capture_output=True,
        text=True,
        check=False,
    )

  @parameterized.parameters("7.7.1", "7.7.1- (@non-git)")
  def test_runs_bazel_7_as_it_is(self, version):
    done = self._run(self._fake("bazel", f"bazel {version}"))
    self.assertEqual(done.stdout, "build //...\n", done.stderr)

  @parameterized.parameters("8.5.0", "9.0.0")
  def test_later_ones_use_modules(self, version):
    done = self._run(self._fake("bazel", f"bazel {version}"))
    rc, *rest = done.stdout.split()
    self.assertEqual(rest, ["build", "//..."], done.stderr)
    file = pathlib.Path(rc.removeprefix("--bazelrc="))
    self.assertIn("--noenable_workspace", file.read_text("utf-8"))

  @parameterized.parameters("bazel 6.5.0", "bazel 10.0.0", "Bazelisk", "")
  def test_passes_over_others(self, version):
    other = self._fake("bazel", version)
    done = self._run(other, self._fake("bazel", "bazel 7.1.0"))
    self.assertEqual(done.stdout, "build //...\n", done.stderr)
    refused = self._run(other)
    self.assertNotEqual(refused.returncode, 0)
    self.assertIn("Bazel 7, 8 or 9", refused.stderr)

  def test_bazelisk_first(self):
    bazel = self._fake("bazel", "bazel 7.7.1")
    done = self._run(bazel, self._fake("bazelisk", "bazel 8.1.0"))
    self.assertIn("--bazelrc=", done.stdout)

  def test_variable_wins(self):
    bazel = self._fake("bazel", "bazel 7.7.1")
    chosen = self._fake("other", "bazel 9.1.0") + "/other"
    done = self._run(bazel, BAZEL=chosen)
    self.assertIn("--bazelrc=", done.stdout)


if __name__ == "__main__":
  absltest.main()
