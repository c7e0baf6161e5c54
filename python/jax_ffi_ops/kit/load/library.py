# SPDX-License-Identifier: Apache-2.0
"""Loads a shared object of FFI handlers and registers them with JAX."""

import ctypes
import difflib
import os
import threading
from typing import Any

import jax
import jaxlib

from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.load import registry
from jax_ffi_ops.kit.load import source
from jax_ffi_ops.kit.load import symbols as symbol_names
from jax_ffi_ops.kit.load.cores import Cores

# JAX's name of a platform in programs and in its registry of FFI targets; the
# symbols that serve it end with the first.
PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}
_NAMED = 10  # The most symbols that an error lists.


class Library(source.Source):
  """A shared object of FFI handlers, made by `xla_ffi_extension` or otherwise.

  The object needs no Python headers and works with any version of Python. The
  library checks a handler when it registers it. XLA would report a handler for
  a newer FFI API later, from an unrelated operation.
  """

  def __init__(
      self,
      path: str | os.PathLike[str],
      prefix: str = "",
      symbols: symbol_names.Symbols | None = None,
  ):
    """Loads the shared object at `path`, if it is there.

    Where it is not, ops can be declared, and cannot run: a build that compiles
    an op from its reference reads the declaration first.

    Args:
      path: the path of the file; if relative, from the current folder.
      prefix: the first part of the names of its targets. It keeps them apart
        from other libraries' targets: a process has one list.
      symbols: the names of handlers in an object that the macros did not make.
        {"my_op_fwd": {"cpu": "MyOp", "cuda": "MyOpCuda"}}, or in place of a
        handler {"instantiate": ..., "prepare": ..., "initialize": ...,
        "execute": ..., "type_id": ..., "type_info": ...}.

    Raises:
      ValueError: `symbols` has a wrong platform, stage or symbol, or the
        variable XLA_FFI_OPS_CPU_LEVEL has no level (see `kit.cpu_level`).
      ImportError: the file cannot be loaded.
    """
    self.path = os.fspath(path)
    if self.path:  # Absolute: what is loaded stays, the current folder may not.
      self.path = os.path.abspath(self.path)
    self.prefix = prefix
    self._symbols = dict(symbols or {})
    symbol_names.check(self._symbols, PLATFORMS)
    self._waiting = {}  # Stateful targets, and their handlers.
    self._declared = set()  # Targets of ops, where there was no file.
    self._lock = threading.Lock()
    self._library = None
    if not self.path or os.path.exists(self.path):
      self.load()

  def load(self) -> None:
    """Loads the shared object, if it is not loaded.

    Raises:
      ImportError: the file does not exist, or it cannot be loaded.
    """
    if self._library is not None:
      return
    cpu.cpu_level()  # Kernels would not tell that the variable is wrong.
    try:
      if not self.path:  # It would be the program that runs.
        raise OSError("it names no file")
      self._library = ctypes.CDLL(self.path)
    except OSError as error:
      raise ImportError(
          f"The library of FFI handlers {self.path!r} cannot be loaded:"
          f" {error}"
      ) from error

  def declare(self, target: str, *, required: bool = True) -> frozenset[str]:
    """Registers a target of an op, which waits where there is no file.

    See `register`, and `ensure_registered` for what waits.
    """
    if self._library is None and not os.path.exists(self.path):
      self._declared.update([target] * required)
      return frozenset(["cpu"] * required)
    return self.register(target, required=required)

  def register(self, target: str, *, required: bool = True) -> frozenset[str]:
    """Registers an FFI target on every platform for which the library has it.

    A stateful target waits for `ensure_registered`.

    Args:
      target: the name in XLA_FFI_OPS_DEFINE_HANDLER.
      required: whether a missing target is an error.

    Returns:
      The platforms, out of "cpu" and "cuda".

    Raises:
      ImportError: the library lacks the target, or was compiled for an FFI API
        that the installed jaxlib does not accept, or another library has the
        target. Nothing is registered then.
    """
    self.load()
    stages = {p: self._stages(target, p) for p in PLATFORMS}
    stages = {p: handlers for p, handlers in stages.items() if handlers}
    if required and not stages:
      raise ImportError(self._missing(target))
    for handler in (
        h for handlers in stages.values() for h in handlers.values()
    ):
      self._check_api(target, handler)
    self._claim(target, stages)
    if any(handlers.keys() - {"execute"} for handlers in stages.values()):
      self._waiting[target] = stages
    else:
      self._register(target, stages)
    return frozenset(stages)

  def ensure_registered(self, target: str) -> None:
    """Registers what waits for it, before a program with it is lowered.

    A stateful target does: the type of its state has to be registered before
    its handlers. As long as jaxlib has no backend, it keeps both, and then
    registers the handlers first.
    """
    if target in self._declared:
      self.register(target)
      self._declared.discard(target)
    if target not in self._waiting:
      return
    jax.devices()
    with self._lock:
      stages = self._waiting.get(target, {})
      self._claim(target, stages)  # Others may have registered it since.
      for platform in stages:
        self._register_type(target, platform)
      self._register(target, stages)
      # Last: other threads look at it without the lock.
      self._waiting.pop(target, None)

  def ready(self, received: Any, exported: bool) -> str:
    self.ensure_registered(received.target)
    return received.target

  def cores(self, op: str) -> Cores | None:
    return Cores.of(self.path, op)

  def _stages(self, target, platform):
    names = symbol_names.names(self._symbols, target, platform)
    found = {
        stage: symbol_names.function(self._library, names[stage])
        for stage in symbol_names.STAGES
        if stage in names
    }
    found = {stage: handler for stage, handler in found.items() if handler}
    return found if "execute" in found else {}

  def _missing(self, target):
    parts = [symbol_names.names(self._symbols, target, p) for p in PLATFORMS]
    names = [part["execute"] for part in parts if part]
    there = symbol_names.exported(self.path, self._library)
    alike = difflib.get_close_matches(names[0], there, _NAMED, cutoff=0)
    more = len(there) - len(alike)
    return (
        f"{self.path!r} has no FFI handler {target!r}: it exports none of"
        f" {names}, but {sorted(alike) or 'nothing that can be told'}"
        f"{f' and {more} more' * bool(more)}. Is the symbol hidden, by"
        " -fvisibility=hidden or by a version script?"
    )

  def _register_type(self, target, platform):
    names = symbol_names.names(self._symbols, target, platform)
    kinds = ("type_id", "type_info")
    if all(
        symbol_names.function(self._library, names.get(kind, ""))
        for kind in kinds
    ):
      jax.ffi.register_ffi_type(
          target + "_state",
          {kind: self._object(names[kind]) for kind in kinds},
          platform=PLATFORMS[platform],
      )

  def _claim(self, target, stages):
    addresses = {
        PLATFORMS[platform]: ctypes.cast(h["execute"], ctypes.c_void_p).value
        for platform, h in stages.items()
    }
    registry.claim(self.path, target, addresses)

  def _object(self, symbol):
    """Returns a capsule of the object whose address a function returns."""
    function = self._library[symbol]
    function.restype = ctypes.c_void_p
    return jax.ffi.pycapsule(ctypes.c_void_p(function()))

  def _register(self, target, stages):
    for platform, handlers in stages.items():
      try:
        jax.ffi.register_ffi_target(
            target,
            {stage: jax.ffi.pycapsule(h) for stage, h in handlers.items()},
            platform=PLATFORMS[platform],
        )
      except jax.errors.JaxRuntimeError as error:  # What a plugin alone knows.
        raise ImportError(
            f"{target!r} in {self.path!r} cannot be registered for"
            f" {PLATFORMS[platform]}: {error}"
        ) from error

  def _check_api(self, target, handler):
    described = abi.read_metadata(handler)
    if described is None:
      raise ImportError(
          f"{target!r} in {self.path!r} is not an FFI handler, or one for an"
          " FFI API that jax_ffi_ops does not know."
      )
    if not abi.is_accepted(described.api_version):
      built, oldest, newest = (
          "{}.{}".format(*version)
          for version in (
              described.api_version,
              abi.OLDEST_API,
              abi.runtime_api(),
          )
      )
      raise ImportError(
          f"{target!r} in {self.path!r} was compiled for version {built} of the"
          f" XLA FFI API, but jaxlib {jaxlib.__version__} accepts {oldest} to"
          f" {newest}: install a newer jaxlib or compile it with older headers."
      )
