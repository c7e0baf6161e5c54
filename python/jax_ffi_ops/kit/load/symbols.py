# SPDX-License-Identifier: Apache-2.0
"""The names under which a shared object has the parts of an FFI target."""

from collections.abc import Mapping
import ctypes
import re
import struct
from typing import Any

from jax_ffi_ops.kit.load import elf_sections

STAGES = ("instantiate", "prepare", "initialize", "execute")
_TYPES = ("type_id", "type_info")

# A target's symbols: of each platform, its handler, or its stages and the
# functions that return the type of its state.
Symbols = Mapping[str, Mapping[str, str | Mapping[str, str]]]


def check(symbols: Symbols, platforms: Any) -> None:
  """Refuses what names no symbols.

  Raises:
    ValueError: there is no such platform or stage, or a symbol is no string.
  """
  parts = (*STAGES, *_TYPES)
  for target, devices in symbols.items():
    if not isinstance(devices, Mapping) or not (
        devices and devices.keys() <= set(platforms)
    ):
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

  A target that is not in `symbols` has the names that the kit's macros give.
  There, "_" replaces each character that C does not allow, such as "-" or ".".
  """
  if target not in symbols:
    base = re.sub(r"\W", "_", target, flags=re.ASCII)
    return {
        "execute": f"{base}_{platform}",
        **{s: f"{base}_{s}_{platform}" for s in STAGES[:-1]},
        **{kind: f"{base}_state_{kind}" for kind in _TYPES},
    }
  found = symbols[target].get(platform, {})
  return {"execute": found} if isinstance(found, str) else dict(found)


def function(library: ctypes.CDLL, symbol: str) -> Any:
  """Returns a function of a shared object, or None if it has none so named."""
  try:  # `getattr` would also find what Python has, such as __dict__.
    return library[symbol]
  except (AttributeError, ValueError):  # The latter: no name in C.
    return None


def exported(path: str, library: ctypes.CDLL) -> list[str]:
  """Returns the C functions that a shared object has for others.

  Returns none if the file does not list them. The file may have been replaced
  since it was loaded, and it may lack section headers, which loading ignores.
  """
  try:
    with elf_sections.mapped(path) as data:
      sections = elf_sections.sections(data)
    names = {
        name
        for name, kind in elf_sections.exported(sections)
        if kind == elf_sections.FUNCTION and not name.startswith("_Z")
    }
  except (OSError, LookupError, ValueError, struct.error):
    return []
  return sorted(name for name in names if function(library, name) is not None)
