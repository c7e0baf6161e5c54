# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of objects that the kit did not make."""

import pathlib

from absl.testing import absltest

import python_process

_HANDLER = pathlib.Path(__file__).parents[1] / "kit/cpp/handler"
_OBJECT = (_HANDLER / "libforeign_ext.so").read_bytes()
# Without what the macros of XLA and of the kit leave, and with a string that
# Python extensions have.
_STRIPPED = (
    _OBJECT.replace(b"E7handler\0", b"E7handlex\0")
    .replace(b"_cpu\0", b"_cpx\0")
    .replace(b"_cuda\0", b"_cudx\0")
    + b"\0__dict__\0"
)


class ForeignDoctorTest(absltest.TestCase):

  def check(self, well, content, symbols=""):
    """Has the doctor look at a file of this content; returns what it prints."""
    file = self.create_tempfile(content=content, mode="wb").full_path
    process = python_process.run("-m", "jax_ffi_ops.doctor", file + symbols)
    printed = process.stdout
    self.assertEqual(process.returncode, not well, printed + process.stderr)
    return printed

  def test_handler_of_xlas_macro(self):
    printed = self.check(True, _OBJECT)
    for symbol in ("ForeignTwice", "NotForeignTwice"):
      self.assertRegex(printed, rf"\n  {symbol} +API 0.3 +a handler")
    for target in ("foreign_twice", "not_foreign_twice"):
      self.assertRegex(
          printed, rf"\n  {target} +cpu +API 0.3 +registered, answers"
      )
    # No handler, and not to be called unasked.
    self.assertNotIn("ForeignCountTypeId", printed)

  def test_stages_are_no_targets(self):
    self.assertNotRegex(self.check(True, _OBJECT), "foreign_count_inst.* cpu")

  def test_stripped_object(self):
    printed = self.check(False, _STRIPPED)
    self.assertIn("has no FFI handler that can be told", printed)
    self.assertRegex(printed, "It exports .*ForeignCountTypeId,.* ForeignTwice")
    self.assertNotIn("API 0.3  ", printed)

  def test_named_symbol(self):
    printed = self.check(True, _STRIPPED, ":ForeignTwice")
    self.assertRegex(printed, "ForeignTwice +API 0.3 +a handler")
    self.assertNotIn("ForeignCount", printed)

  def test_functions_that_are_no_handlers(self):
    """Two that return, one that ends the process, and a handler after it."""
    names = "ForeignCountTypeId,sched_yield,abort,ForeignTwice"
    printed = self.check(False, _OBJECT, ":" + names)
    self.assertRegex(printed, "ForeignCountTypeId +is no FFI handler\n")
    self.assertRegex(printed, "sched_yield +is no FFI handler\n")
    self.assertRegex(printed, "abort +is no FFI .*ended the process by SIGABRT")
    self.assertRegex(printed, "ForeignTwice +API 0.3 +a handler")

  def test_symbol_that_is_not_there(self):
    printed = self.check(False, _OBJECT, ":No,ForeignTwice")
    self.assertRegex(printed, "\n  No +is not exported\n")
    self.assertRegex(printed, "ForeignTwice +API 0.3 +a handler")


if __name__ == "__main__":
  absltest.main()
