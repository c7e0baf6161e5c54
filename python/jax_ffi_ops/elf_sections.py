# SPDX-License-Identifier: Apache-2.0
"""Reads the sections of a shared object, of 64-bit little-endian ELF."""

from collections.abc import Iterator
import contextlib
import mmap
import os
import struct

SYMBOLS = 11  # SHT_DYNSYM
FUNCTION = 2  # STT_FUNC
_DYNAMIC = 6  # SHT_DYNAMIC
_NEEDED = 1  # DT_NEEDED
# Code and data, most of an object: SHT_PROGBITS and SHT_NOBITS.
_UNREAD = (1, 8)


@contextlib.contextmanager
def mapped(path: str | os.PathLike[str]) -> Iterator[mmap.mmap]:
  """Maps a file. It takes no memory, however large it is."""
  with (
      open(path, "rb") as file,
      mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
  ):
    yield data


def sections(data: bytes | mmap.mmap) -> dict[int, tuple[bytes, bytes, int]]:
  """Returns content, content of the linked section, and info, by type.

  Code and data have many sections of one type: of these, it reads none.
  """
  if data[:6] != b"\x7fELF\x02\x01":
    raise ValueError("not a 64-bit little-endian ELF file")
  (offset,) = struct.unpack_from("<Q", data, 0x28)
  size, count = struct.unpack_from("<HH", data, 0x3A)
  headers = [
      struct.unpack_from("<IIQQQQII", data, offset + size * i)
      for i in range(count)
  ]
  contents = [
      b"" if kind in _UNREAD else data[start : start + n]
      for _, kind, *_, start, n, _, _ in headers
  ]
  return {
      kind: (content, contents[link] if link < count else b"", info)
      for (_, kind, *_, link, info), content in zip(headers, contents)
  }


def name(strings: bytes, offset: int) -> str:
  """Returns a string of a table of strings."""
  return strings[offset : strings.index(b"\0", offset)].decode()


def libraries(found: dict[int, tuple[bytes, bytes, int]]) -> Iterator[str]:
  """Yields the shared objects that one is linked with, by its sections."""
  content, strings, _ = found[_DYNAMIC]
  for tag, value in struct.iter_unpack("<QQ", content):
    if tag == _NEEDED:
      yield name(strings, value)


def exported(
    found: dict[int, tuple[bytes, bytes, int]],
) -> Iterator[tuple[str, int]]:
  """Yields name and type of each symbol that others can use, by its sections."""
  content, strings, _ = found[SYMBOLS]
  for offset, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", content):
    if section and info >> 4:  # Defined, and not STB_LOCAL.
      yield name(strings, offset), info & 15
