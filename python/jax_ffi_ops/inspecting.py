# SPDX-License-Identifier: Apache-2.0
"""Looks at a shared object that may be anybody's, and may be broken.

  python -m jax_ffi_ops.inspecting LIBRARY.so FD SYMBOL ...

This writes to a file descriptor what the functions of these names say of
themselves. `described` has it done by another process.
"""

from collections.abc import Sequence
import ctypes
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys

from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.load import symbols

# In mangled names, the variable that XLA's macro has in the function it makes.
# Only the object's own table of symbols has it, so `strip` removes it.
_MADE = re.compile(rb"\0_ZZZ(\d+)(\w+)(?<=XLA_FFI_CallFrame)\w*E7handler(?=\0)")
_NAMED = re.compile(r"(?P<target>\w+)_(?P<platform>cpu|cuda)")
_STAGE = re.compile(r"_(instantiate|prepare|initialize)$")
_SECONDS = 60


def flaw(path: pathlib.Path) -> str:
  """Returns what the system's loader does not tell of a file, or nothing.

  For a library of another machine it says that there is no such file, and one
  that is cut off ends the process.
  """
  if not path.is_file():
    return ""
  data = path.read_bytes()
  with open("/proc/self/exe", "rb") as program:
    own = program.read(20)
  if data[:4] != own[:4] or len(data) < 64:
    return "it is no ELF file"
  if (data[4:6], data[18:20]) != (own[4:6], own[18:20]):
    return "it is built for another kind of machine"
  (sections,) = struct.unpack_from("<Q", data, 0x28)
  size, count = struct.unpack_from("<HH", data, 0x3A)
  return "its end is missing" if sections + size * count > len(data) else ""


def handlers(path: pathlib.Path, library: ctypes.CDLL) -> list[str]:
  """Returns the exported symbols that are named or made like handlers."""
  exported = symbols.exported(str(path), library)
  made = {
      text[: int(length)].decode()
      for length, text in _MADE.findall(path.read_bytes())
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


def described(
    path: pathlib.Path, names: Sequence[str]
) -> dict[str, abi.Metadata | str]:
  """Asks functions for their metadata, in another process.

  A function that is no handler does anything when it is called as one.

  Returns:
    For each, its metadata, or why there is none.
  """
  found = {}
  while waiting := [name for name in names if name not in found]:
    reader, writer = os.pipe()
    command = [sys.executable, "-m", __name__, path, str(writer), *waiting]
    with open(reader, encoding="utf-8") as answers:
      try:
        status = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            pass_fds=[writer],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
        ).returncode
        end = f"ended the process by {_reason(status)}"
      except subprocess.TimeoutExpired:
        end = f"did not return within {_SECONDS} s"
      os.close(writer)
      lines = answers.read().splitlines()
    for name, line in zip(waiting, lines):
      values = json.loads(line)
      found[name] = "is no FFI handler"
      if values:
        found[name] = abi.Metadata(tuple(values[0]), *values[1:])
    if len(lines) < len(waiting):
      found[waiting[len(lines)]] = f"is no FFI handler: a call {end}"
  return found


def _reason(status):
  return signal.Signals(-status).name if status < 0 else f"exit({status})"


def _main():
  path, descriptor, *names = sys.argv[1:]
  library = ctypes.CDLL(path)
  with open(int(descriptor), "w", encoding="utf-8") as answers:
    for name in names:
      print(json.dumps(abi.read_metadata(library[name])), file=answers)
      answers.flush()


if __name__ == "__main__":
  _main()
