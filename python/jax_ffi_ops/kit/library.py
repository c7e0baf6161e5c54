# SPDX-License-Identifier: Apache-2.0
"""Loads a shared object of FFI handlers and registers them with JAX."""

import ctypes
import os

import jax
import jaxlib

from jax_ffi_ops.kit import metadata

# JAX's name of a platform, and the suffix of the symbols that serve it.
_PLATFORMS = {"cpu": "_cpu", "CUDA": "_cuda"}


class Library:
  """A shared object made by `xla_ffi_extension`.

  The object needs no Python headers and works with any version of Python. It
  is checked when it is loaded: XLA itself would refuse a handler that was
  compiled for a newer FFI API only later, in the first unrelated operation.
  """

  def __init__(self, path: str | os.PathLike[str]):
    """Loads the shared object at `path`.

    Raises:
      ImportError: there is no such file, or it cannot be loaded.
    """
    self.path = os.fspath(path)
    try:
      self._library = ctypes.CDLL(self.path)
    except OSError as error:
      raise ImportError(
          f"The library of FFI handlers {self.path!r} cannot be loaded:"
          f" {error}"
      ) from error

  def register(self, *targets: str) -> None:
    """Registers FFI targets on every platform that the library has them for.

    Args:
      *targets: names given to XLA_FFI_OPS_DEFINE_HANDLER.

    Raises:
      ImportError: the library lacks a target, or was compiled for an FFI API
        that the installed jaxlib does not accept. Nothing is registered then.
    """
    handlers = [
        (target, platform, handler)
        for target in targets
        for platform, handler in self._handlers(target)
    ]
    for target, platform, handler in handlers:
      jax.ffi.register_ffi_target(
          target, jax.ffi.pycapsule(handler), platform=platform
      )

  def _handlers(self, target):
    handlers = [
        (platform, self._library[target + suffix])
        for platform, suffix in _PLATFORMS.items()
        if hasattr(self._library, target + suffix)
    ]
    if not handlers:
      raise ImportError(f"{self.path!r} has no FFI handler {target!r}.")
    for _, handler in handlers:
      self._check_api(target, handler)
    return handlers

  def _check_api(self, target, handler):
    runtime = metadata.runtime_api()
    described = metadata.read_metadata(handler)
    if described is None:
      raise ImportError(
          f"{target!r} in {self.path!r} is not an FFI handler, or one for an"
          " FFI API that jax_ffi_ops does not know."
      )
    if not metadata.OLDEST_API <= described.api_version <= runtime:
      built, oldest, newest = (
          "{}.{}".format(*version)
          for version in (
              described.api_version,
              metadata.OLDEST_API,
              runtime,
          )
      )
      raise ImportError(
          f"{target!r} in {self.path!r} was compiled for version {built} of the"
          f" XLA FFI API, but jaxlib {jaxlib.__version__} accepts {oldest} to"
          f" {newest}: install a newer jaxlib or compile it with older headers."
      )
