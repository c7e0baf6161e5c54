# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of good libraries and of bad ones."""

import os
import pathlib
import shutil
import subprocess
import sys

from absl.testing import absltest

import jax_ffi_ops

_PATH = pathlib.Path(jax_ffi_ops.__file__).parent / "ops/librms_norm_ext.so"


class DoctorTest(absltest.TestCase):

  def run_doctor(self, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "jax_ffi_ops.doctor", *arguments],
        cwd=self.create_tempdir(),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

  def check(self, well, *paths):
    """Runs the doctor; returns what it prints."""
    process = self.run_doctor(*paths)
    self.assertNotIn("Traceback", process.stdout)
    self.assertEqual("All is well." in process.stdout, well, process.stdout)
    self.assertEqual(process.returncode, not well)
    return process.stdout

  def refused(self, *arguments):
    """Returns what the doctor says of wrong arguments."""
    process = self.run_doctor(*arguments)
    self.assertEqual(process.returncode, 2, process.stdout)
    return process.stdout

  def renamed(self, old):
    """Returns a library in which a symbol's name is a string and no symbol."""
    file = self.create_tempfile()
    file.write_bytes(_PATH.read_bytes().replace(old, old[:-1] + b"x"))
    return file.full_path

  def test_libraries_of_the_package(self):
    printed = self.check(True)
    for op in (
        "add_rms_norm",
        "layer_norm",
        "lu_solve",
        "rms_norm",
        "softmax",
    ):
      self.assertRegex(printed, f"{op}_fwd +cpu .* registered, answers")
    self.assertRegex(
        printed, r"\nA result of 64 MiB on the CPU takes \d+ page faults and "
    )

  def test_string_that_is_no_symbol(self):
    printed = self.check(True, self.renamed(b"norm_fwd"))
    self.assertRegex(printed, "norm_bwd +cpu .* registered, answers")
    self.assertNotIn("norm_fw", printed)

  def test_library_without_handlers(self):
    path = self.renamed(b"rms_norm")
    self.assertIn(f"{path} has no FFI handler", self.check(False, path))

  def test_what_is_no_library(self):
    # Not one of the system of that name.
    self.assertIn("libc.so.6 cannot be loaded", self.check(False, "libc.so.6"))

  def test_two_libraries_with_one_target(self):
    copy = shutil.copy(_PATH, self.create_tempdir())
    self.assertIn("has registered already", self.check(False, _PATH, copy))

  def test_arguments_of_bench(self):
    for arguments, told in (
        (["--bench", "--only=sort,sotr"], "'sotr' is none of add_rms_norm, "),
        (["--only=sort"], "--only is for --bench"),
        (["--bench", "sort"], "name them with --only"),
    ):
      self.assertRegex(self.refused(*arguments), told)


if __name__ == "__main__":
  absltest.main()
