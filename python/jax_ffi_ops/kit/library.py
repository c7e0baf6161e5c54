# SPDX-License-Identifier: Apache-2.0
"""Loads a shared object of FFI handlers and registers them with JAX."""

import ctypes
import os

import jax
import jaxlib

from jax_ffi_ops.kit import metadata

# JAX's name of a platform in programs and in its registry of FFI targets; the
# symbols that serve it end with the first.
_PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}


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

  def register(self, target: str, *, required: bool = True) -> frozenset[str]:
    """Registers an FFI target on every platform that the library has it for.

    Args:
      target: name given to XLA_FFI_OPS_DEFINE_HANDLER.
      required: whether it is an error that the library lacks the target.

    Returns:
      The platforms, out of "cpu" and "cuda".

    Raises:
      ImportError: the library lacks the target, or was compiled for an FFI API
        that the installed jaxlib does not accept. Nothing is registered then.
    """
    handlers = {
        platform: self._library[f"{target}_{platform}"]
        for platform in _PLATFORMS
        if hasattr(self._library, f"{target}_{platform}")
    }
    if required and not handlers:
      raise ImportError(f"{self.path!r} has no FFI handler {target!r}.")
    for handler in handlers.values():
      self._check_api(target, handler)
    for platform, handler in handlers.items():
      jax.ffi.register_ffi_target(
          target, jax.ffi.pycapsule(handler), platform=_PLATFORMS[platform]
      )
    return frozenset(handlers)

  def _check_api(self, target, handler):
    described = metadata.read_metadata(handler)
    if described is None:
      raise ImportError(
          f"{target!r} in {self.path!r} is not an FFI handler, or one for an"
          " FFI API that jax_ffi_ops does not know."
      )
    if not metadata.is_accepted(described.api_version):
      built, oldest, newest = (
          "{}.{}".format(*version)
          for version in (
              described.api_version,
              metadata.OLDEST_API,
              metadata.runtime_api(),
          )
      )
      raise ImportError(
          f"{target!r} in {self.path!r} was compiled for version {built} of the"
          f" XLA FFI API, but jaxlib {jaxlib.__version__} accepts {oldest} to"
          f" {newest}: install a newer jaxlib or compile it with older headers."
      )
