# SPDX-License-Identifier: Apache-2.0
"""Whether CUDA's driver is new enough for jax's plugin and for an object.

docs/build.md has this as a table; a test compares the two.
"""

import ctypes
import importlib.metadata
import mmap
import re

# The first driver of each major version of CUDA; it runs what any toolkit of
# that version has made.
_DRIVERS = {12: 525, 13: 580}
# What third_party/cuda/toolkit.bzl writes, and a runtime library that is linked
# dynamically. Patterns that begin with a text are found ten times sooner.
_TOOLKITS = (
    re.compile(rb"xla_ffi_ops: CUDA ((\d+)[\d.]*)\0"),
    re.compile(rb"libcudart\.so\.((\d+)[\d.]*)\0"),
)

Version = tuple[int, int]


def driver() -> Version | None:
  """Returns the newest CUDA that the driver knows, if there is a driver."""
  version = ctypes.c_int()
  try:
    failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(
        ctypes.byref(version)
    )
  except OSError:
    return None
  return None if failed else (version.value // 1000, version.value % 1000 // 10)


def plugins() -> dict[str, int]:
  """Returns name and version of jax's plugins, with the CUDA they are for."""
  found = {}
  for cuda in _DRIVERS:
    name = f"jax-cuda{cuda}-plugin"
    try:
      found[f"{name} {importlib.metadata.version(name)}"] = cuda
    except importlib.metadata.PackageNotFoundError:
      pass
  return found


def toolkit(content: bytes | mmap.mmap) -> tuple[str, int] | None:
  """Returns the CUDA that an object is linked with, if that can be told."""
  for pattern in _TOOLKITS:
    if found := pattern.search(content):
      return found[1].decode(), int(found[2])
  return None


def lack(known: Version | None, cuda: int) -> str:
  """Returns what a driver lacks for a major version of CUDA, or nothing."""
  if known is None or known >= (cuda, 0):
    return ""
  least = _DRIVERS.get(cuda, "of a newer version")
  return (
      f"it needs driver {least} (CUDA {cuda}.0) or newer, but the one here is"
      " for CUDA {}.{}".format(*known)
  )
