# SPDX-License-Identifier: Apache-2.0
"""Tells whether the FFI handlers of this installation work, and if not, why.

Looks at the shared objects of jax_ffi_ops, or at those named. It finds handlers
by the names that the kit gives them, and those that XLA's macros made if the
object is not stripped; symbols can be named instead. Nothing else is called.
Exit status 1 if something is wrong.
"""

import argparse
from collections.abc import Iterator
import ctypes
import os
import pathlib
import platform
import sys
import sysconfig

import jax
import jaxlib

from jax_ffi_ops import cuda_versions
from jax_ffi_ops import inspecting
from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.load import symbols
from jax_ffi_ops.kit.load.library import Library

_THREADS = ""
if sysconfig.get_config_var("Py_GIL_DISABLED"):
  _THREADS = " (free-threaded, which is not supported: nothing was tried on it)"


def _problem(target: str, device_kind: str) -> str:
  """Calls a registered target; returns what is wrong, or nothing.

  The call has no operands, so that a handler that is reached refuses it.
  """
  device = jax.devices(device_kind)[0]
  call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((), "float32"))
  try:
    with jax.default_device(device):
      jax.block_until_ready(jax.jit(call)())
  except jax.errors.JaxRuntimeError as error:
    if not str(error).startswith("INVALID_ARGUMENT"):
      return str(error).splitlines()[0]
  return ""


def _has_device(device_kind: str) -> bool:
  try:
    return bool(jax.devices(device_kind))
  except RuntimeError:
    return False


def _load(path: pathlib.Path) -> ctypes.CDLL:
  if what := inspecting.flaw(path):
    raise OSError(what)
  return ctypes.CDLL(str(path))


def _report(path: pathlib.Path, names: list[str]) -> Iterator[tuple[bool, str]]:
  """Yields whether it is well, and a line, for a library and its handlers."""
  try:
    library = _load(path)
  except OSError as error:
    yield False, f"{path} cannot be loaded: {error}"
    return
  handlers = names or inspecting.handlers(path, library)
  if missing := [name for name in handlers if not hasattr(library, name)]:
    yield False, f"{path} does not export {', '.join(missing)}"
    return
  if not handlers:
    others = symbols.exported(str(path), library)
    others = [name for name in others if not name.startswith("_")]
    yield False, (
        f"{path} has no FFI handler that can be told: it exports nothing that"
        " is named <target>_cpu or <target>_cuda or made by XLA's macros"
    )
    if others:
      yield False, (
          f"  It exports {', '.join(others)}. To have those called that are"
          f" handlers, name them: {path}:{','.join(others[:2])}"
      )
    return
  yield True, str(path)
  yield from _toolkit(path)
  for symbol, described in inspecting.described(path, handlers).items():
    target, device = inspecting.target_of(symbol)
    start = f"  {target or symbol:<36}{device:<5}"
    if isinstance(described, str):
      yield False, f"{start} {described}"
      continue
    version = "{}.{}".format(*described.api_version)
    graphs = "CUDA graphs" if described.command_buffer_compatible else ""
    line = f"{start} API {version}  {graphs:<11}  "
    if not abi.is_accepted(described.api_version):
      newest = "{}.{}".format(*abi.runtime_api())
      yield False, (
          f"{line}refused: compile it with headers of API {newest} or older, or"
          " install a newer jaxlib"
      )
    elif not target:
      yield True, f"{line}a handler; `symbols` of kit.Library give it a target"
    elif not _has_device(device):
      yield True, f"{line}no device to try it on"
    else:
      problem = _registered(path, target) or _problem(target, device)
      yield not problem, line + (problem or "registered, answers")


def _toolkit(path: pathlib.Path) -> Iterator[tuple[bool, str]]:
  """Yields whether the driver runs what the object has for CUDA."""
  if found := cuda_versions.toolkit(path.read_bytes()):
    version, cuda = found
    lack = cuda_versions.lack(cuda_versions.driver(), cuda)
    # Without a plugin nothing runs on a GPU.
    well = not lack or not cuda_versions.plugins()
    yield well, f"  linked with CUDA {version}" + (lack and f": {lack}")


def _gpu() -> Iterator[tuple[bool, str]]:
  """Yields whether the driver is new enough for jax itself."""
  plugins = cuda_versions.plugins()
  driver = cuda_versions.driver()
  if driver or plugins:
    known = "for CUDA {}.{}".format(*driver) if driver else "none"
    names = ", ".join(plugins) or "none"
    yield True, f"CUDA driver: {known}; plugin of jax: {names}"
  for name, cuda in plugins.items():
    if lack := cuda_versions.lack(driver, cuda):
      yield False, f"  {name}: {lack}"


def _registered(path: pathlib.Path, target: str) -> str:
  """Registers a target; returns what is wrong, or nothing."""
  try:
    library = Library(path)
    library.register(target)
    library.ensure_registered(target)
  except ImportError as error:  # Another library has the target.
    return str(error)
  return ""


def _split(argument: str) -> tuple[pathlib.Path, list[str]]:
  """Returns path and symbols; the path may have a colon."""
  path, colon, names = argument.rpartition(":")
  if not colon or os.path.exists(argument):
    path, names = argument, ""
  # Absolute: without a folder, a library is looked for in those of the system.
  return pathlib.Path(path).absolute(), names.split(",") if names else []


def main() -> int:
  parser = argparse.ArgumentParser(
      prog="python -m jax_ffi_ops.doctor",
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument(
      "libraries",
      nargs="*",
      type=_split,
      metavar="LIBRARY.so[:SYMBOL,...]",
      help="a shared object, and the symbols of handlers to call",
  )
  named = parser.parse_args().libraries
  here = pathlib.Path(__file__).parent / "ops"
  paths = named or [(path, []) for path in sorted(here.glob("lib*.so"))]
  newest = "{}.{}".format(*abi.runtime_api())
  oldest = "{}.{}".format(*abi.OLDEST_API)
  print(
      f"jax {jax.__version__}, jaxlib {jaxlib.__version__}, Python"
      f" {platform.python_version()}{_THREADS}"
  )
  print(
      f"XLA FFI API {newest} (headers in {jax.ffi.include_dir()}); accepted are"
      f" handlers compiled for {oldest} to {newest}"
  )
  lines = [*_gpu(), *(line for path in paths for line in _report(*path))]
  if not paths:
    lines += [(False, f"No shared object in {here}: build it with Bazel")]
  for _, line in lines:
    print(line)
  well = all(good for good, _ in lines)
  print("All is well." if well else "Something is wrong: see above.")
  return not well


if __name__ == "__main__":
  sys.exit(main())
