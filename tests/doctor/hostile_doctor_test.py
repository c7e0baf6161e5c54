# SPDX-License-Identifier: Apache-2.0
"""The doctor outlives files and objects that are made to stop it."""

import os
import pathlib
import resource
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized

_HERE = pathlib.Path(__file__).parent
_HANDLER = _HERE.parent / "kit/cpp/handler"
_GOOD = _HANDLER / "libforeign_ext.so"
_TRIED = r"\n  foreign_twice +cpu +API 0.3 +registered, answers\n"
_SIZE = 4 << 30  # of a large file
_MEMORY = 3 << 30  # Less than that, and several times what jax takes.


class HostileDoctorTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.file = pathlib.Path(self.create_tempdir()) / "lib.so"

  def start(self, *arguments, **variables):
    """Starts the doctor, which may not take much memory."""
    limits = (_MEMORY, _MEMORY)
    return subprocess.Popen(
        [sys.executable, "-m", "jax_ffi_ops.doctor", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, limits),
    )

  def report(self, *arguments, well=False, **variables):
    """Returns what the doctor prints."""
    process = self.start(*arguments, **variables)
    printed, _ = process.communicate()
    self.assertNotIn("Traceback", printed)
    self.assertEqual(process.returncode, not well, printed)
    self.assertEqual("All is well." in printed, well, printed)
    return printed

  def test_one_after_the_other(self):
    """Each has its line, and those that are good are tried."""
    ends = "this ended the process by"
    os.mkfifo(pipe := self.file.with_name("pipe"))
    reasons = {
        _HERE / "libaborts_on_load.so": f"{ends} SIGABRT\n",
        pipe: "it is no regular file\n",
        _HERE / "libexits_on_load.so": f"{ends} exit(0)\n",
        self.file: "[Errno 2] No such file or directory",
    }
    printed = self.report(*reasons, _GOOD)
    for path, reason in reasons.items():
      self.assertIn(f"\n{path} cannot be loaded: {reason}", printed)
    self.assertRegex(printed, _TRIED)
    self.assertEndsWith(printed, "\nSomething is wrong: see above.\n")

  def test_object_that_sleeps(self):
    path = _HERE / "libsleeps_on_load.so"
    self.assertIn(
        f"\n{path} cannot be loaded: this did not return within 2 s\n",
        self.report("--seconds=2", path),
    )

  def test_lines_come_at_once(self):
    process = self.start(_GOOD, _HERE / "libsleeps_on_load.so")
    with process:
      lines = iter(process.stdout.readline, "")
      self.assertTrue(any("  foreign_twice " in line for line in lines))
      process.kill()
      self.assertNotIn("see above", process.stdout.read())

  def test_large_object(self):
    self.file.write_bytes(_GOOD.read_bytes())
    os.truncate(self.file, _SIZE)
    self.assertRegex(self.report(self.file, well=True), _TRIED)

  def test_large_file_of_zeros(self):
    self.file.touch()
    os.truncate(self.file, _SIZE)
    self.assertIn("it is no ELF file", self.report(self.file))

  def test_object_without_headers_of_sections(self):
    """The system loads it, but only these headers tell what it exports."""
    content = bytearray(_GOOD.read_bytes())
    content[0x28:0x30] = bytes(8)
    content[0x3A:0x40] = bytes(6)
    self.file.write_bytes(content)
    self.assertIn(
        f"{self.file} has no FFI handler that can be told",
        self.report(self.file),
    )
    named = self.report(f"{self.file}:foreign_twice_cpu", well=True)
    self.assertRegex(named, _TRIED)

  @parameterized.parameters("nonsense", "cuda", "tpu")
  def test_platform_that_is_not_there(self, name):
    printed = self.report(_GOOD, JAX_PLATFORMS=name)
    self.assertRegex(
        printed, rf"\njax finds no device \(JAX_PLATFORMS='{name}'\): \w"
    )
    self.assertRegex(
        printed, "\n  foreign_twice +cpu .* no device to try it on"
    )
    self.assertRegex(printed, "\n  ForeignTwice +API 0.3 +a handler")
    self.assertEndsWith(printed, "\nSomething is wrong: see above.\n")

  def test_no_handler_has_a_device(self):
    handler = f"{_HANDLER}/libcuda_stub.so:kit_test_stub_cuda"
    printed = self.report(handler, JAX_PLATFORMS="cpu")
    self.assertRegex(printed, "cuda +API 0.3 .* no device to try it on\n")
    self.assertEndsWith(printed, "\nNothing could be tried: see above.\n")


if __name__ == "__main__":
  absltest.main()
