# SPDX-License-Identifier: Apache-2.0
"""Which handlers have the FFI targets of this process.

All of a process share one list of targets. jaxlib looks for two handlers with
one target only when the backend starts: the first unrelated operation then
fails, and all targets after the second handler are lost.
"""

from collections.abc import Mapping
import ctypes
import os
import threading

from jax_ffi_ops.kit import _jax

# The addresses of handlers, by target and JAX's name of the platform. Two kinds
# are in none of jaxlib's lists: stateful ones that Library has not registered
# yet, and those that a plugin has, such as the one for CUDA.
_claimed: dict[tuple[str, str], int] = {}
_lock = threading.Lock()


class _SymbolInfo(ctypes.Structure):  # Dl_info of dlfcn.h
  _fields_ = (
      ("file", ctypes.c_char_p),
      ("base", ctypes.c_void_p),
      ("symbol", ctypes.c_char_p),
      ("address", ctypes.c_void_p),
  )


def claim(path: str, target: str, handlers: Mapping[str, int]) -> None:
  """Takes a target for handlers of one file, unless others have it.

  Handlers that have it already may claim it again, as when a module is
  reloaded.

  Args:
    path: the file.
    target: the FFI target.
    handlers: their addresses, by JAX's name of the platform.

  Raises:
    ImportError: other handlers have the target.
  """
  with _lock:
    for platform, own in handlers.items():
      for other in (
          _claimed.get((target, platform)),
          _jax.registered_handler(target, platform),
      ):
        if other not in (None, own):
          raise ImportError(
              f"{path!r} has the FFI target {target!r} for {platform}, which"
              f" {_file_of(other)!r} has registered already: a process can have"
              " it only once."
          )
    _claimed.update({(target, p): own for p, own in handlers.items()})


def _file_of(address):
  """Returns the file that code was loaded from."""
  info = _SymbolInfo()
  found = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(info))
  return os.fsdecode(info.file) if found else "code of no file"
