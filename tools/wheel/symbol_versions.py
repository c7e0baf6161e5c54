# SPDX-License-Identifier: Apache-2.0
"""Which symbols a shared object takes from others, and in which versions."""

from collections.abc import Iterator
import struct

import elf_sections

_NEEDED_VERSIONS = 0x6FFFFFFE  # SHT_GNU_verneed
_VERSIONS = 0x6FFFFFFF  # SHT_GNU_versym

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
      versions[index] = elf_sections.name(strings, name)
      part += step
    at += following
  content, strings, _ = sections[elf_sections.SYMBOLS]
  indices, _, _ = sections.get(_VERSIONS, (b"", b"", 0))
  for (name, *_), (index,) in zip(
      struct.iter_unpack("<IBBHQQ", content), struct.iter_unpack("<H", indices)
  ):
    if index in versions:
      yield elf_sections.name(strings, name), versions[index]


def problems(data: bytes, glibc: str) -> list[str]:
  """Returns what keeps an object from a manylinux of this glibc.

  Args:
    data: the content of the shared object.
    glibc: "2.34", say.
  """
  sections = elf_sections.sections(data)
  allowed = _ALLOWED[glibc]
  found = [
      f"it needs {name}, which is no part of manylinux"
      for name in elf_sections.libraries(sections)
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
