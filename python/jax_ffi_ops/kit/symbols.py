# SPDX-License-Identifier: Apache-2.0
"""The names under which a shared object has the parts of an FFI target."""

from collections.abc import Mapping
import ctypes
import struct
from typing import Any

from jax_ffi_ops import elf_sections

STAGES = ("instantiate", "prepare", "initialize", "execute")
_TYPES = ("type_id", "type_info")

# A target's symbols: of each platform, its handler, or its stages and the
# functions that return the type of its state.
Symbols = Mapping[str, Mapping[str, str | Mapping[str, str]]]


def check(symbols: Symbols, platforms: Any) -> None:
  """Refuses what names no symbols.

  Raises:
    ValueError: a platform, a stage or a symbol is no such.
  """
  parts = (*STAGES, *_TYPES)
  for target, devices in symbols.items():
    if not isinstance(devices, Mapping) or not devices.keys() <= set(platforms):
      raise ValueError(
          f"symbols: {target} must map {' or '.join(platforms)} to symbols, got"
          f" {devices!r}."
      )
    for device, names in devices.items():
      names = names if isinstance(names, Mapping) else {"execute": names}
      wrong = [
          part
          for part, name in names.items()
          if part not in parts or not isinstance(name, str)
      ]
      if wrong or "execute" not in names:
        raise ValueError(
            f"symbols: {target} for {device} must be a symbol, or map execute"
            f" and others of {', '.join(parts)} to symbols, got {names!r}."
        )


def names(symbols: Symbols, target: str, platform: str) -> dict[str, str]:
  """Returns the symbol of each stage and type; not all need be there.

  What `symbols` does not know has the names that the kit's macros give it.
  """
  if target not in symbols:
    return {
        "execute": f"{target}_{platform}",
        **{s: f"{target}_{s}_{platform}" for s in STAGES[:-1]},
        **{kind: f"{target}_state_{kind}" for kind in _TYPES},
    }
  found = symbols[target].get(platform, {})
  return {"execute": found} if isinstance(found, str) else dict(found)


def exported(path: str, library: ctypes.CDLL) -> list[str]:
  """Returns the C symbols that a shared object defines for others."""
  with open(path, "rb") as file:
    sections = elf_sections.sections(file.read())
  content, strings, _ = sections[elf_sections.SYMBOLS]
  names = {
      elf_sections.name(strings, offset)
      for offset, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", content)
      if section
  }
  found = []
  for name in sorted(names):
    try:  # `hasattr` would also find what Python has, such as __dict__.
      library[name]
    except AttributeError:
      continue
    found.append(name)
  return found
