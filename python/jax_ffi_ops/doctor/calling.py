# SPDX-License-Identifier: Apache-2.0
"""Loads shared objects and calls their handlers, for the doctor's report.

Run by `isolated.messages`: whatever is loaded or called may do anything.
"""

from collections.abc import Iterator, Sequence
import ctypes
import pathlib

import jax

from jax_ffi_ops.doctor import cuda_versions
from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.doctor import object_file
from jax_ffi_ops.doctor.report import Line
from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.load import elf_sections
from jax_ffi_ops.kit.load import symbols
from jax_ffi_ops.kit.load.library import Library
from jax_ffi_ops.kit.load.library import PLATFORMS

_LISTED = 10  # symbols, at most

# Before what may end the process: the line to print then, but for its end, and
# what is left.
Step = tuple[str, list]


def devices() -> Iterator[tuple[list[str], str]]:
  """Yields once: on which kinds of devices handlers can be tried, or an error."""
  try:
    jax.devices()
  # With JAX_PLATFORMS=cuda and no plugin, it is an AssertionError.
  except Exception as error:
    yield [], _first_line(error) or f"it raises {type(error).__name__}"
  else:
    yield [kind for kind in PLATFORMS if _device(kind)], ""


def _device(kind):
  try:
    return jax.devices(kind)[0]
  except RuntimeError:
    return None


def objects(
    left: Sequence[tuple[str, list[str], bool]], kinds: Sequence[str]
) -> Iterator[Line | Step]:
  """Yields the report on shared objects.

  Args:
    left: the path of each, the symbols to call, or none to have them found, and
      whether it is reported on already, but for these symbols.
    kinds: of devices that there are.
  """
  for i, (path, names, begun) in enumerate(left):
    later = left[i + 1 :]
    yield f"{path} cannot be loaded: this", later
    try:
      if flaw := object_file.flaw(pathlib.Path(path)):
        raise OSError(flaw)
      library = ctypes.CDLL(path)
      exported = symbols.exported(path, library)
      names = names or object_file.handlers(path, exported)
    except OSError as error:
      yield f"{path} cannot be loaded: {error}", False
      continue
    if not begun:
      yield from _heading(path, names, exported)
    for k, symbol in enumerate(names):
      rest = names[k + 1 :]
      again = [(path, rest, True), *later] if rest else later
      yield from _handler(path, library, symbol, again, kinds)


def _heading(path, handlers, exported):
  """Yields what is to be told of an object before its handlers."""
  if not handlers:
    yield (
        f"{path} has no FFI handler that can be told: it exports nothing that"
        " is named <target>_cpu or <target>_cuda or made by XLA's macros"
    ), False
    if others := [name for name in exported if not name.startswith("_")]:
      yield (
          f"  It exports {_list(others)}. To have those called that are"
          f" handlers, name them: {path}:{','.join(others[:2])}"
      ), False
    return
  yield path, None
  with elf_sections.mapped(path) as data:
    toolkit = cuda_versions.toolkit(data)
  if toolkit:
    version, cuda = toolkit
    lack = cuda_versions.lack(cuda_versions.driver(), cuda)
    line = f"  linked with CUDA {version}" + (lack and f": {lack}")
    # Without a plugin nothing runs on a GPU.
    yield line, False if lack and cuda_versions.plugins() else None


def _handler(path, library, symbol, left, kinds):
  """Yields what a function says of itself, and whether it can be called."""
  target, kind = object_file.target_of(symbol)
  line = f"  {target or symbol:<39} {kind:<5}"
  yield f"{line} is no FFI handler: a call", left
  function = symbols.function(library, symbol)
  if function is None:
    yield f"{line} is not exported", False
    return
  described = abi.read_metadata(function)
  if described is None:
    yield f"{line} is no FFI handler", False
    return
  version = "{}.{}".format(*described.api_version)
  graphs = "CUDA graphs" if described.command_buffer_compatible else ""
  line += f" API {version}  {graphs:<11} "
  if not abi.is_accepted(described.api_version):
    newest = "{}.{}".format(*abi.runtime_api())
    yield (
        f"{line} refused: compile it with headers of API {newest} or older, or"
        " install a newer jaxlib"
    ), False
  elif not target:
    yield f"{line} a handler; `symbols` of kit.Library give it a target", True
  elif kind not in kinds:
    yield f"{line} no device to try it on", None
  else:
    yield f"{line} a call", left
    problem = _registered(path, target) or _problem(target, kind)
    yield f"{line} {problem or 'registered, answers'}", not problem


def _registered(path, target):
  """Registers a target; returns what is wrong, or nothing."""
  try:
    library = Library(path)
    library.register(target)
    library.ensure_registered(target)
  except ImportError as error:  # Another library has the target.
    return str(error)
  return ""


def _problem(target, kind):
  """Calls a registered target; returns what is wrong, or nothing.

  The call has no operands, so that a handler that is reached refuses it.
  """
  call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((), "float32"))
  try:
    with jax.default_device(_device(kind)):
      jax.block_until_ready(jax.jit(call)())
  except jax.errors.JaxRuntimeError as error:
    if not str(error).startswith("INVALID_ARGUMENT"):
      return _first_line(error)
  return ""


def _first_line(error):
  return next(iter(str(error).splitlines()), "")


def _list(names):
  more = len(names) - _LISTED
  return ", ".join(names[:_LISTED]) + f" and {more} more" * (more > 0)


if __name__ == "__main__":
  isolated.tell(devices, objects)
