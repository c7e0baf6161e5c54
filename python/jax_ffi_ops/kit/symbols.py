# SPDX-License-Identifier: Apache-2.0
"""The names under which a shared object has the parts of an FFI target."""

from collections.abc import Mapping
import ctypes
import os
import re
from typing import Any

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


class _DlInfo(ctypes.Structure):
  _fields_ = [
      ("file", ctypes.c_char_p),
      ("base", ctypes.c_void_p),
      ("symbol", ctypes.c_char_p),
      ("address", ctypes.c_void_p),
  ]


def exported(path: str, library: ctypes.CDLL) -> list[str]:
  """Returns the C symbols that a shared object exports, for error messages."""
  with open(path, "rb") as file:
    strings = set(re.findall(rb"\0([A-Za-z_]\w*)(?=\0)", file.read()))
  info = _DlInfo()
  found = []
  for name in sorted(string.decode() for string in strings):
    try:  # `hasattr` would also find what Python has, such as __dict__.
      address = ctypes.cast(library[name], ctypes.c_void_p)
    except AttributeError:
      continue
    # A name may be that of a symbol in a library that this one is linked with,
    # or of the kernel's, which is no file.
    known = ctypes.CDLL(None).dladdr(address, ctypes.byref(info))
    file = os.fsdecode(info.file) if known else ""
    if os.path.exists(file) and os.path.samefile(file, path):
      found.append(name)
  return found
