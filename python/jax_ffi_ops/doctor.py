# SPDX-License-Identifier: Apache-2.0
"""Tells whether the FFI handlers of this installation work, and if not, why.

  python -m jax_ffi_ops.doctor [LIBRARY.so ...]

Looks at the shared objects of jax_ffi_ops, or at those named. Exit status 1 if
something is wrong.
"""

from collections.abc import Iterator
import ctypes
import pathlib
import platform
import re
import sys

import jax
import jaxlib

from jax_ffi_ops.kit import metadata
from jax_ffi_ops.kit.library import Library

_SYMBOL = re.compile(rb"\0([A-Za-z]\w*)_(cpu|cuda)(?=\0)")


def _handlers(
    path: pathlib.Path, library: ctypes.CDLL
) -> list[tuple[str, str]]:
  """Returns target and platform of the handlers that a library exports."""
  found = {
      (name.decode().removesuffix("_instantiate"), device.decode())
      for name, device in _SYMBOL.findall(path.read_bytes())
  }
  # Any other string may look like the name of one.
  return sorted(x for x in found if hasattr(library, "_".join(x)))


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


def _report(path: pathlib.Path) -> Iterator[tuple[bool, str]]:
  """Yields whether it is well, and a line, for a library and its handlers."""
  try:
    symbols = ctypes.CDLL(str(path))
  except OSError as error:
    yield False, f"{path} cannot be loaded: {error}"
    return
  handlers = _handlers(path, symbols)
  if not handlers:
    yield False, (
        f"{path} has no FFI handler: it exports nothing that is named"
        " <target>_cpu or <target>_cuda"
    )
    return
  yield True, str(path)
  for target, device in handlers:
    described = metadata.read_metadata(symbols[f"{target}_{device}"])
    if described is None:
      yield False, f"  {target:<36}{device:<5} is no FFI handler"
      continue
    version = "{}.{}".format(*described.api_version)
    graphs = "CUDA graphs" if described.command_buffer_compatible else ""
    line = f"  {target:<36}{device:<5} API {version}  {graphs:<11}  "
    if not metadata.is_accepted(described.api_version):
      newest = "{}.{}".format(*metadata.runtime_api())
      yield False, (
          f"{line}refused: compile it with headers of API {newest} or older, or"
          " install a newer jaxlib"
      )
    elif not _has_device(device):
      yield True, f"{line}no device to try it on"
    else:
      try:
        library = Library(path)
        library.register(target)
        library.ensure_registered(target)
        problem = _problem(target, device)
      except ImportError as error:  # Another library has the target.
        problem = str(error)
      yield not problem, line + (problem or "registered, answers")


def main() -> int:
  here = pathlib.Path(__file__).parent / "ops"
  # Absolute: without a folder, a library is looked for in those of the system.
  named = [pathlib.Path(path).absolute() for path in sys.argv[1:]]
  paths = named or sorted(here.glob("lib*.so"))
  newest = "{}.{}".format(*metadata.runtime_api())
  oldest = "{}.{}".format(*metadata.OLDEST_API)
  print(
      f"jax {jax.__version__}, jaxlib {jaxlib.__version__}, Python"
      f" {platform.python_version()}"
  )
  print(
      f"XLA FFI API {newest} (headers in {jax.ffi.include_dir()}); accepted are"
      f" handlers compiled for {oldest} to {newest}"
  )
  lines = [line for path in paths for line in _report(path)]
  if not lines:
    lines = [(False, f"No shared object in {here}: build it with Bazel")]
  for _, line in lines:
    print(line)
  well = all(good for good, _ in lines)
  print("All is well." if well else "Something is wrong: see above.")
  return not well


if __name__ == "__main__":
  sys.exit(main())
