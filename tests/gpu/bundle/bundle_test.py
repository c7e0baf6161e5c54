# SPDX-License-Identifier: Apache-2.0
"""The bundle runs where there is jax and nothing else of what we use."""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from absl.testing import absltest
import jax
import pack

_ARCHIVE = pathlib.Path(__file__).parents[2] / "gpu_bundle.tar.gz"
_FAILING = """
from absl.testing import absltest

class Test(absltest.TestCase):
  def test_right(self):
    pass

  def test_wrong(self):
    self.fail()

absltest.main()
"""


def _link_packages(folder):
  """Makes a folder of links to what the other machine has."""
  installed = pathlib.Path(jax.__file__).parent.parent
  for path in installed.iterdir():
    if path.name.startswith(
        ("jax", "ml_dtypes", "numpy", "opt_einsum", "scipy")
    ):
      (folder / path.name).symlink_to(path)


class BundleTest(absltest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    scratch = tempfile.TemporaryDirectory()
    cls.addClassCleanup(scratch.cleanup)
    packages = pathlib.Path(scratch.name, "packages")
    packages.mkdir()
    _link_packages(packages)
    with tarfile.open(_ARCHIVE) as archive:
      archive.extractall(scratch.name)
    (cls.folder,) = pathlib.Path(scratch.name).glob("*_bundle")
    cls.env = os.environ | {"PYTHONPATH": str(packages)}
    cls.env.pop("TESTBRIDGE_TEST_ONLY", None)  # The filter is for this file.

  def start(self, *args):
    """Runs run.py; returns its exit status and what it prints."""
    done = subprocess.run(
        [sys.executable, self.folder / "run.py", *args],
        env=self.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.returncode, done.stdout

  def test_tests(self):
    status, output = self.start("test", "gpu/buffers", "kit_attributes")
    self.assertEqual(status, 0, output)
    self.assertRegex(
        output, r"(?m)^tests/kit/kit_attributes_test.py: \d+ passed"
    )
    self.assertRegex(output, r"(?m)^[1-9]\d* passed, 0 failed$")

  def add_test(self, text):
    file = self.folder / "tests" / "added_test.py"
    self.addCleanup(file.unlink)
    file.write_text(text)

  def test_failure(self):
    self.add_test(_FAILING)
    status, output = self.start("test", "added_test")
    self.assertEqual(status, 1)
    self.assertIn("failed: test_wrong", output)
    self.assertIn("\n1 passed, 1 failed\n", output)

  def test_shards(self):
    self.add_test(_FAILING)
    shards = [
        self.start("test", f"--shard={i}/3", "added_test") for i in (1, 2, 3)
    ]
    self.assertEqual([status for status, _ in shards], [0, 1, 0])
    for (_, output), counts in zip(
        shards, ("1 passed, 0", "0 passed, 1", "0 ")
    ):
      self.assertIn(f"\n{counts}", output)

  def test_process_that_ends_early(self):
    self.add_test("import os; os.abort()")
    status, output = self.start("test", "added_test")
    self.assertEqual(status, 1)
    self.assertIn("\n0 passed, 1 failed\n", output)

  def test_process_that_does_not_end(self):
    self.add_test("import time; time.sleep(1000)")
    status, output = self.start("test", "--timeout=0.5", "added_test")
    self.assertEqual(status, 1)
    self.assertIn("the process ended early: more than 0.5 s", output)

  def test_benchmarks(self):
    status, output = self.start("bench", "overhead", "--repeats=1")
    self.assertEqual(status, 0, output)
    self.assertIn("ffi_call", output)
    status, output = self.start(
        *("bench", "--op=rms_norm", "--shapes=4x8,2x8", "--rows=4"),
        *("--dtype=float32", "--peers=none", "--repeats=1", "--shard=3/3"),
    )
    self.assertEqual(status, 0, output)
    self.assertRegex(output, r"(?m)^rms_norm +4x8 float32 +both .* of copy; *$")
    self.assertNotIn("2x8", output)
    self.assertNotIn("forward", output)

  def test_what_is_sanitized_runs(self):
    status, output = self.start("sanitize", "--call-kernels=rms_norm")
    self.assertEqual(status, 0, output)
    self.assertIn("kernels ran on cpu", output)

  def test_everything_is_there(self):
    _, output = self.start("list")
    names = output.split()
    for name in ("ops/rms_norm/rms_norm", "gpu/large", "suite/ops"):
      self.assertIn(name, output)
    for name in names:
      self.assertNotIn("bundle", name)
    for name in ("python/jax_ffi_ops/ops/librms_norm_ext.so", "README.md"):
      self.assertTrue((self.folder / name).exists(), name)

  def test_the_bytes_are_those_of_the_files(self):
    files = {"b": b"1", "a/c": b"2"}
    again = dict(reversed(files.items()))
    self.assertEqual(pack.pack(files), pack.pack(again))
    with tarfile.open(_ARCHIVE) as archive:
      members = archive.getmembers()
    self.assertEqual([m.name for m in members], sorted(m.name for m in members))
    self.assertEqual({(m.mtime, m.uid, m.uname) for m in members}, {(0, 0, "")})


if __name__ == "__main__":
  absltest.main()
