# SPDX-License-Identifier: Apache-2.0
"""Looks at the file of a shared object that may be anybody's, and broken."""

from collections.abc import Collection
import os
import pathlib
import re
import stat

from jax_ffi_ops.kit.load import elf_sections

# In mangled names, the variable that XLA's macro has in the function it makes.
# Only the object's own table of symbols has it, so `strip` removes it.
_MADE = re.compile(rb"\0_ZZZ(\d+)(\w+)(?<=XLA_FFI_CallFrame)\w*E7handler(?=\0)")
_NAMED = re.compile(r"(?P<target>\w+)_(?P<platform>cpu|cuda)")
_STAGE = re.compile(r"_(instantiate|prepare|initialize)$")
_HEADER = 64  # bytes


def flaw(path: pathlib.Path) -> str:
  """Returns what the system's loader does not tell of a file, or nothing.

  For a library of another machine it says that there is no such file, one that
  is cut off ends the process, and for a pipe it waits.

  Raises:
    OSError: there is no such file, or it cannot be read.
  """
  if path.is_symlink() and not path.exists():
    return f"it is a link to {path.readlink()}, which is not there"
  mode = path.stat().st_mode
  if not stat.S_ISREG(mode):
    return "it is a folder" if stat.S_ISDIR(mode) else "it is no regular file"
  with open("/proc/self/exe", "rb") as program:
    own = program.read(20)
  with open(path, "rb") as file:
    header = file.read(_HEADER)
    if header[:4] != own[:4] or len(header) < _HEADER:
      return "it is no ELF file"
    if (header[4:6], header[18:20]) != (own[4:6], own[18:20]):
      return "it is built for another kind of machine"
    cut = elf_sections.end(file) > file.seek(0, os.SEEK_END)
    return "it is cut off" if cut else ""


def handlers(path: pathlib.Path, exported: Collection[str]) -> list[str]:
  """Returns the exported symbols that are named or made like handlers."""
  with elf_sections.mapped(path) as data:
    made = {
        text[: int(length)].decode() for length, text in _MADE.findall(data)
    }
  return [
      name
      for name in exported
      if name in made
      or (found := _NAMED.fullmatch(name))
      and not (
          _STAGE.search(found["target"])
          and f"{_STAGE.sub('', found['target'])}_{found['platform']}"
          in exported
      )
  ]


def target_of(symbol: str) -> tuple[str, str]:
  """Returns target and platform, if the symbol is named as the kit does."""
  found = _NAMED.fullmatch(symbol)
  return (found["target"], found["platform"]) if found else ("", "")
