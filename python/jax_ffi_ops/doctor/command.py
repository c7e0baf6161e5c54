# SPDX-License-Identifier: Apache-2.0
"""Tells whether the FFI handlers of this installation work, and if not, why.

Looks at the shared objects of jax_ffi_ops, or at those named. It finds handlers
by the names that the kit gives them, and those that XLA's macros made if the
object is not stripped; symbols can be named instead. Nothing else is called.
Without names it also measures how many page faults a large result takes, and
tells which C++ compiler and which cache are used at run time.
With --bench it times our functions against those of jax instead, and says where
a lower level of the CPU's instructions would be faster.
Exit status 1 if something is wrong, or if nothing could be tried.
"""

import argparse
from collections.abc import Iterator
import itertools
import os
import pathlib

from jax_ffi_ops.doctor import compiling
from jax_ffi_ops.doctor import fresh_pages
from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.doctor import speeds
from jax_ffi_ops.doctor import versions
from jax_ffi_ops.doctor.report import Line
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.timing.cases import CASES

_CALLING = "jax_ffi_ops.doctor.calling"


def _heap(seconds) -> Iterator[Line]:
  if told := fresh_pages.sentence(seconds):
    yield told, None


def _examined(paths, seconds) -> Iterator[Line]:
  """Yields the report on shared objects.

  This process neither loads them nor starts jax, which would take the GPU's
  memory from the process that does.
  """
  try:
    [(kinds, why)] = isolated.messages(_CALLING, "devices", seconds=seconds)
  except isolated.Ended as end:
    kinds, why = [], f"to look for one {end}"
  if why:
    chosen = os.environ.get("JAX_PLATFORMS", "")
    yield f"jax finds no device (JAX_PLATFORMS={chosen!r}): {why}", False
  left = [(str(path), names, False) for path, names in paths]
  while left:
    messages = isolated.messages(
        _CALLING, "objects", left, kinds, seconds=seconds
    )
    # A process that does not even begin is not started again.
    doing, left = "No object can be loaded: this", []
    try:
      for line, state in messages:
        if isinstance(state, list):
          doing, left = line, state
        else:
          yield line, state
      return
    except isolated.Ended as end:
      yield f"{doing} {end}", False


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
  parser.add_argument(
      "--seconds",
      type=float,
      default=60,
      help="how long a step may take, such as loading an object (60)",
  )
  parser.add_argument(
      "--bench",
      action="store_true",
      help=(
          "time our functions against those of jax instead, and levels of the"
          " CPU against each other"
      ),
  )
  parser.add_argument(
      "--only",
      type=lambda names: names.split(","),
      default=[],
      metavar="NAME,...",
      help="the functions to time",
  )
  parser.add_argument(
      "--clear-cache",
      action="store_true",
      help="remove what was compiled at run time, and do nothing else",
  )
  options = parser.parse_args()
  if options.clear_cache:
    print(compiling.clear())
    return 0
  if options.libraries and options.bench:
    parser.error("--bench times our functions: name them with --only")
  if options.only and not options.bench:
    parser.error("--only is for --bench")
  if unknown := [name for name in options.only if name not in CASES]:
    parser.error(f"{unknown[0]!r} is none of {', '.join(CASES)}")
  here = pathlib.Path(__file__).parents[1]
  paths = options.libraries or [(path, []) for path in libraries.paths()]
  lines = [
      versions.lines(),
      versions.gpu_lines(),
      _examined(paths, options.seconds),
  ]
  if not options.libraries:
    lines += [_heap(options.seconds), compiling.lines()]
  if not paths:
    lines.append([(f"No shared object in {here}: build it with Bazel", False)])
  if options.bench:
    lines = [versions.lines(), speeds.lines(options.only, options.seconds)]
  states = set()
  for line, state in itertools.chain(*lines):
    print(line.encode("utf-8", "backslashreplace").decode(), flush=True)
    states.add(state)
  if True not in states:
    print("Nothing could be tried: see above.")
  elif False in states:
    print("Something is wrong: see above.")
  else:
    print("All is well.")
    return 0
  return 1
