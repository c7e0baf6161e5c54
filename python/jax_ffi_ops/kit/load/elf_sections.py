# SPDX-License-Identifier: Apache-2.0
"""Reads the sections of a shared object, of 64-bit little-endian ELF."""

from collections.abc import Iterator
import contextlib
import mmap
import os
import struct
from typing import BinaryIO

SYMBOLS = 11  # SHT_DYNSYM
FUNCTION = 2  # STT_FUNC
_DYNAMIC = 6  # SHT_DYNAMIC
_NEEDED = 1  # DT_NEEDED
_LOADED = 1  # PT_LOAD
_EMPTY = 8  # SHT_NOBITS
# Code and data, most of an object: SHT_PROGBITS and SHT_NOBITS.
_UNREAD = (1, _EMPTY)

_MAGIC = b"\x7fELF\x02\x01"
# Where the headers of segments and of sections are, and how many.
_HEADER = struct.Struct("<6s26xQQ8xH2xH2x")
_SEGMENT = struct.Struct("<II6Q")
_SECTION = struct.Struct("<II4QIIQQ")


def end(file: BinaryIO) -> int:
  """Returns where the last part of an object ends that its headers name."""
  file.seek(0)
  magic, *places = _HEADER.unpack(file.read(_HEADER.size))
  if magic != _MAGIC:
    raise ValueError("not a 64-bit little-endian ELF file")
  segments, sections, segment_count, section_count = places
  section_count *= bool(sections)  # There are none at 0.
  ends = [
      segments + _SEGMENT.size * segment_count,
      sections + _SECTION.size * section_count,
  ]
  if max(ends) > file.seek(0, os.SEEK_END):
    return max(ends)
  file.seek(segments)
  for kind, _, offset, _, _, size, *_ in _SEGMENT.iter_unpack(
      file.read(_SEGMENT.size * segment_count)
  ):
    ends.append((offset + size) * (kind == _LOADED))
  file.seek(sections)
  for _, kind, _, _, offset, size, *_ in _SECTION.iter_unpack(
      file.read(_SECTION.size * section_count)
  ):
    ends.append((offset + size) * (kind != _EMPTY))
  return max(ends)


@contextlib.contextmanager
def mapped(path: str | os.PathLike[str]) -> Iterator[mmap.mmap]:
  """Maps an object, which takes no memory, up to the end of its parts.

  Raises:
    OSError: the file cannot be mapped.
    ValueError: it is no object.
  """
  with open(path, "rb") as file:
    size = min(end(file), os.fstat(file.fileno()).st_size)
    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
      yield data


def sections(data: bytes | mmap.mmap) -> dict[int, tuple[bytes, bytes, int]]:
  """Returns content, content of the linked section, and info, by type.

  Code and data have many sections of one type: of these, it reads none.
  """
  magic, _, offset, _, count = _HEADER.unpack_from(data)
  if magic != _MAGIC:
    raise ValueError("not a 64-bit little-endian ELF file")
  headers = [
      _SECTION.unpack_from(data, offset + _SECTION.size * i)
      for i in range(count * bool(offset))
  ]
  contents = [
      b"" if kind in _UNREAD else data[start : start + n]
      for _, kind, _, _, start, n, *_ in headers
  ]
  return {
      kind: (content, contents[link] if link < count else b"", info)
      for (_, kind, *_, link, info, _, _), content in zip(headers, contents)
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
