# SPDX-License-Identifier: Apache-2.0
"""Reads what a shared object exports and needs, of 64-bit little-endian ELF."""

import pathlib
import struct

_DYNAMIC = 6  # SHT_DYNAMIC
_SYMBOLS = 11  # SHT_DYNSYM
_NEEDED = 1  # DT_NEEDED


def _sections(data):
  """Yields type, content, and the content of the linked section."""
  if data[:6] != b"\x7fELF\x02\x01":
    raise ValueError("not a 64-bit little-endian ELF file")
  (offset,) = struct.unpack_from("<Q", data, 0x28)
  size, count = struct.unpack_from("<HH", data, 0x3A)
  headers = [
      struct.unpack_from("<IIQQQQI", data, offset + size * i)
      for i in range(count)
  ]
  contents = [data[start : start + n] for *_, start, n, _ in headers]
  for (_, kind, *_, link), content in zip(headers, contents):
    yield kind, content, contents[link] if link < count else b""


def _name(strings, offset):
  return strings[offset : strings.index(b"\0", offset)].decode()


def exported(path: str) -> set[str]:
  """Returns the symbols that a shared object defines for others."""
  names = set()
  for kind, content, strings in _sections(pathlib.Path(path).read_bytes()):
    if kind == _SYMBOLS:
      for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", content):
        if section:
          names.add(_name(strings, name))
  return names


def needed(path: str) -> set[str]:
  """Returns the shared objects that one is linked with."""
  names = set()
  for kind, content, strings in _sections(pathlib.Path(path).read_bytes()):
    if kind == _DYNAMIC:
      for tag, value in struct.iter_unpack("<QQ", content):
        if tag == _NEEDED:
          names.add(_name(strings, value))
  return names
