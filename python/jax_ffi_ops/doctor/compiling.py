# SPDX-License-Identifier: Apache-2.0
"""What is there to compile at run time, and what has been compiled."""

from collections.abc import Iterator

from jax_ffi_ops.doctor.report import Line
from jax_ffi_ops.kit import toolchain
from jax_ffi_ops.kit.toolchain import cache
from jax_ffi_ops.kit.toolchain import compilers
from jax_ffi_ops.kit.toolchain import folders


def lines() -> Iterator[Line]:
  """Yields the compiler, and the cache; nobody needs them but for compiling."""
  try:
    yield f"C++ compiler: {compilers.compiler().name}", None
  except toolchain.Unavailable as error:
    yield f"C++ compiler: {error}", None
  try:
    kept = cache.Cache(folders.standard())
  except OSError as error:
    yield f"What is compiled at run time is not kept: {error}", None
    return
  yield f"Compiled at run time: {_told(kept)}; at most {cache.most_mb()} MB", None


def clear() -> str:
  """Removes what has been compiled; returns a line about it.

  Raises:
    OSError: the folder cannot be used.
  """
  kept = cache.Cache(folders.standard())
  told = _told(kept)
  kept.clear()
  return f"Removed: {told}"


def _told(kept):
  entries = kept.entries()
  size = sum(entry.bytes for entry in entries) / (1 << 20)
  return f"{len(entries)} objects, {size:.1f} MB, in {kept.folder}"
