# SPDX-License-Identifier: Apache-2.0
"""Loads compiled loops, and links them to the runtime that the wheel has."""

import ctypes
import functools
import hashlib
import pathlib
import threading

import jax

from jax_ffi_ops.kit.build import INCLUDE
from jax_ffi_ops.kit.load import symbols

_PATH = pathlib.Path(__file__).with_name("libloops_runtime.so")

# Objects stay loaded: XLA has the addresses of their handlers.
_loaded: dict[str, ctypes.CDLL] = {}
_lock = threading.Lock()


@functools.cache
def _runtime() -> ctypes.CDLL:
  return ctypes.CDLL(str(_PATH))


@functools.cache
def version() -> bytes:
  """Returns a hash of all that a compiled loop depends on besides its text."""
  found = hashlib.sha256()
  for path in [_PATH, *sorted(INCLUDE.rglob("*.h"))]:
    found.update(path.name.encode() + b"\0" + path.read_bytes())
  return found.digest()


def load(*paths: str) -> None:
  """Registers all handlers of objects that another process has compiled.

  Call it before a program of jax.export runs that needs them:

    jax_ffi_ops.compiled.load(*paths)  # What `f.libraries` was there.

  Raises:
    OSError: an object cannot be loaded.
  """
  for path in paths:
    for symbol in symbols.exported(path, ctypes.CDLL(path)):
      if symbol.endswith("_cpu"):
        register(path, symbol.removesuffix("_cpu"))


def register(path: str, target: str) -> None:
  """Registers the handler of a target, which an object has for the CPU.

  Raises:
    OSError: the object cannot be loaded.
  """
  with _lock:
    if target in _loaded:
      return
    library = ctypes.CDLL(path)
    link = library["xla_ffi_ops_loops_link"]
    link.restype = None
    link(_runtime()["xla_ffi_ops_loops_call"])
    jax.ffi.register_ffi_target(
        target, jax.ffi.pycapsule(library[target + "_cpu"]), platform="cpu"
    )
    # For exported programs, which let XLA split calls.
    jax.ffi.register_ffi_target_as_batch_partitionable(target)
    _loaded[target] = library
