# SPDX-License-Identifier: Apache-2.0
"""Reads what a shared object exports and needs."""

import pathlib
import struct

import elf_sections


def exported(path: str) -> set[str]:
  """Returns the symbols that a shared object defines for others."""
  found = elf_sections.sections(pathlib.Path(path).read_bytes())
  content, strings, _ = found[elf_sections.SYMBOLS]
  return {
      elf_sections.name(strings, name)
      for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", content)
      if section
  }


def needed(path: str) -> set[str]:
  """Returns the shared objects that one is linked with."""
  found = elf_sections.sections(pathlib.Path(path).read_bytes())
  return set(elf_sections.libraries(found))
