# SPDX-License-Identifier: Apache-2.0
"""Reads what a shared object takes from others, of 64-bit little-endian ELF."""

from collections.abc import Iterator
import struct

_DYNAMIC = 6  # SHT_DYNAMIC
_SYMBOLS = 11  # SHT_DYNSYM
_NEEDED_VERSIONS = 0x6FFFFFFE  # SHT_GNU_verneed
_VERSIONS = 0x6FFFFFFF  # SHT_GNU_versym
_NEEDED = 1  # DT_NEEDED

# The newest versions that a manylinux of this glibc may have: PEP 600, and the
# table of auditwheel (policy/manylinux-policy.json).
_ALLOWED = {
    "2.28": {
        "GLIBC": (2, 28),
        "GLIBCXX": (3, 4, 24),
        "CXXABI": (1, 3, 11),
        "GCC": (7, 0, 0),
    },
    "2.34": {
        "GLIBC": (2, 34),
        "GLIBCXX": (3, 4, 29),
        "CXXABI": (1, 3, 13),
        "GCC": (7, 0, 0),
    },
}
_LIBRARIES = {
    *("ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1"),
    *("libm.so.6", "libpthread.so.0", "librt.so.1", "libstdc++.so.6"),
}


def _sections(data):
  """Returns content, content of the linked section, and info, by type."""
  if data[:6] != b"\x7fELF\x02\x01":
    raise ValueError("not a 64-bit little-endian ELF file")
  (offset,) = struct.unpack_from("<Q", data, 0x28)
  size, count = struct.unpack_from("<HH", data, 0x3A)
  headers = [
      struct.unpack_from("<IIQQQQII", data, offset + size * i)
      for i in range(count)
  ]
  contents = [data[start : start + n] for *_, start, n, _, _ in headers]
  return {
      kind: (content, contents[link] if link < count else b"", info)
      for (_, kind, *_, link, info), content in zip(headers, contents)
  }


def _name(strings, offset):
  return strings[offset : strings.index(b"\0", offset)].decode()


def _libraries(sections):
  content, strings, _ = sections[_DYNAMIC]
  for tag, value in struct.iter_unpack("<QQ", content):
    if tag == _NEEDED:
      yield _name(strings, value)


def _symbols(sections) -> Iterator[tuple[str, str]]:
  """Yields a symbol and its version, of those that others define."""
  versions = {}
  content, strings, count = sections.get(_NEEDED_VERSIONS, (b"", b"", 0))
  at = 0
  for _ in range(count):
    _, parts, _, part, following = struct.unpack_from("<HHIII", content, at)
    part += at
    for _ in range(parts):
      _, _, index, name, step = struct.unpack_from("<IHHII", content, part)
      versions[index] = _name(strings, name)
      part += step
    at += following
  content, strings, _ = sections[_SYMBOLS]
  indices, _, _ = sections.get(_VERSIONS, (b"", b"", 0))
  for (name, *_), (index,) in zip(
      struct.iter_unpack("<IBBHQQ", content), struct.iter_unpack("<H", indices)
  ):
    if index in versions:
      yield _name(strings, name), versions[index]


def problems(data: bytes, glibc: str) -> list[str]:
  """Returns what keeps an object from a manylinux of this glibc.

  Args:
    data: the content of the shared object.
    glibc: "2.34", say.
  """
  sections = _sections(data)
  allowed = _ALLOWED[glibc]
  found = [
      f"it needs {name}, which is no part of manylinux"
      for name in _libraries(sections)
      if name not in _LIBRARIES
  ]
  for symbol, version in _symbols(sections):
    kind, _, number = version.partition("_")
    try:
      small = tuple(map(int, number.split("."))) <= allowed.get(kind, ())
    except ValueError:  # GLIBC_PRIVATE, GLIBC_ABI_DT_RELR
      small = False
    if not small:
      found.append(f"{symbol} has the version {version}")
  return found
