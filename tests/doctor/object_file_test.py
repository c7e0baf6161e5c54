# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of files that it does not even load."""

import os
import pathlib
import socket
import struct

from absl.testing import absltest
from absl.testing import parameterized

from jax_ffi_ops.doctor import object_file
from jax_ffi_ops.kit.load import elf_sections

_HANDLER = pathlib.Path(__file__).parents[1] / "kit/cpp/handler"
_OBJECT = (_HANDLER / "libforeign_ext.so").read_bytes()
_CUT = "it is cut off"
_OTHER = "it is built for another kind of machine"
_LARGEST = b"\xff" * 8


class FlawTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir()) / "lib.so"

  def check(self, flaw, content=None):
    if content is not None:
      self.path.write_bytes(content)
    self.assertEqual(object_file.flaw(self.path), flaw)

  def test_object(self):
    self.check("", _OBJECT)

  def test_link_to_an_object(self):
    self.path.with_name("object").write_bytes(_OBJECT)
    self.path.symlink_to("object")
    self.check("")

  def test_link_to_nowhere(self):
    self.path.symlink_to("nowhere")
    self.check("it is a link to nowhere, which is not there")

  def test_link_to_itself(self):
    self.path.symlink_to("lib.so")
    self.check("it is a link to lib.so, which is not there")

  def test_folder(self):
    self.path.mkdir()
    self.check("it is a folder")

  def test_pipe(self):
    os.mkfifo(self.path)
    self.check("it is no regular file")

  def test_socket(self):
    with socket.socket(socket.AF_UNIX) as listener:
      listener.bind(os.path.relpath(self.path))
      self.check("it is no regular file")

  def test_device(self):
    self.path = pathlib.Path("/dev/zero")
    self.check("it is no regular file")

  @parameterized.parameters(b"", b"text\n" * 99, _OBJECT[:63])
  def test_no_elf(self, content):
    self.check("it is no ELF file", content)

  @parameterized.parameters(
      (0x04, b"\1", _OTHER),  # 32 bits
      (0x05, b"\2", _OTHER),  # big endian
      (0x12, b"\xf3\0", _OTHER),  # RISC-V
      (0x20, _LARGEST, _CUT),  # where segments are listed
      (0x28, _LARGEST, _CUT),  # where sections are
      (0x38, b"\xff\xff", _CUT),  # how many segments there are
      (0x3C, b"\xff\xff", _CUT),  # how many sections
  )
  def test_header(self, at, value, flaw):
    self.check(flaw, _OBJECT[:at] + value + _OBJECT[at + len(value) :])

  @parameterized.parameters(64, 0x100, len(_OBJECT) // 2, len(_OBJECT) - 1)
  def test_cut_off(self, size):
    self.check(_CUT, _OBJECT[:size])

  def test_cut_off_without_headers_of_sections(self):
    """Those of segments tell as well, up to what is loaded last."""
    whole = bytearray(_OBJECT)
    whole[0x28:0x30] = bytes(8)
    whole[0x3A:0x40] = bytes(6)
    self.check("", whole)
    start, count = struct.unpack_from("<Q16xH", whole, 0x20)
    ends = (
        sum(struct.unpack_from("<Q16xQ", whole, start + 56 * i + 8))
        for i in range(count)
    )
    end = max(ends)
    self.check("", whole[:end])
    self.check(_CUT, whole[: end - 1])

  def test_end_of_an_object(self):
    """It is mapped so far: a file can be larger than there is memory."""
    self.path.write_bytes(_OBJECT + bytes(1 << 20))
    with open(self.path, "rb") as file:
      self.assertEqual(elf_sections.end(file), len(_OBJECT))
    with elf_sections.mapped(self.path) as data:
      self.assertEqual(data[:], _OBJECT)


if __name__ == "__main__":
  absltest.main()
