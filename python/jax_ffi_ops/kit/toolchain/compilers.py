# SPDX-License-Identifier: Apache-2.0
"""The C++ compiler of this machine, and how it is called."""

from collections.abc import Iterator, Sequence
import functools
import importlib.util
import os
import shlex
import shutil
import tempfile
from typing import NamedTuple

from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit.toolchain import failures
from jax_ffi_ops.kit.toolchain import limits

VARIABLE = "JAX_FFI_OPS_CXX"
_NAMES = ("g++", "clang++")
_ASKING = limits.Limits(seconds=30, megabytes=4096)

# Those of floating point are those of KERNEL_COPTS, in
# xla_ffi_ops/options.bzl, and of xla_ffi_jax_op: bits are the same. Warnings
# are nobody's who calls `jax_ffi_ops.compile`.
_FLAGS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-threadsafe-statics",
    "-fopenmp-simd",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fwrapv",
    "-Wno-psabi",
    "-w",
)

# Else two versions of a handler share their static variables, of which other
# compilers know nothing.
_GCC = ("-fno-gnu-unique",)

# Else vectors of SSE2 spill into registers of MMX, after which long double is
# NaN. g++ for other processors refuses it.
_GCC_X86 = ("-mno-mmx",)

# What g++'s -O3 does for scalar code without unrolling all its loops, which takes
# long to compile.
_GCC_SCALARS = (
    "-ftree-slp-vectorize",
    "-fvect-cost-model=dynamic",
    "-fpeel-loops",
    "-funswitch-loops",
)

# Variables by which a compiler finds other headers, libraries or parts of its
# own.
_ENVIRONMENT = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
)


class Compiler(NamedTuple):
  """A compiler that answers.

  Attributes:
    command: how it is started.
    version: all that it says of itself.
  """

  command: tuple[str, ...]
  version: str

  @property
  def name(self) -> str:
    """The first line of its version, and where it is."""
    return f"{self.version.splitlines()[0]} ({self.command[0]})"

  @property
  def is_zig(self) -> bool:
    return os.path.basename(self.command[0]) == "zig"

  @property
  def is_gcc(self) -> bool:
    return "clang" not in self.version and not self.is_zig

  def flags(self, has_vectors: bool = True) -> tuple[str, ...]:
    """Returns the flags for a text, at the CPU level of this process."""
    # Never "native": GCC 12 has crashed with it, and its code was slower.
    level = cpu.NAMES.get(cpu.cpu_level(), "")
    own = _FLAGS
    if self.is_gcc:
      own = (*own, *_GCC, *(_GCC_X86 if level else ()))
    own = own if has_vectors else (*own, *self._of_scalars())
    if self.is_zig:  # Without one, it is "native"; and it sanitizes.
      level = level.replace("-", "_") or "baseline"
      return (*own, f"-mcpu={level}", "-fno-sanitize=all")
    return (*own, f"-march={level}") if level else own

  def _of_scalars(self):
    return ("-O2", *_GCC_SCALARS) if self.is_gcc else ("-O2",)

  def key(self, has_vectors: bool = True) -> tuple[str, ...]:
    """Returns what of it an object depends on."""
    variables = (f"{v}={os.environ.get(v, '')}" for v in _ENVIRONMENT)
    return (*self.command, self.version, *self.flags(has_vectors), *variables)

  def commands(
      self,
      source: str,
      made: str,
      options: Sequence[str],
      libraries: Sequence[str] = (),
      has_vectors: bool = True,
  ) -> Iterator[tuple[str, ...]]:
    """Yields the commands that make an object of a file, one after the other."""
    compiling = (*self.command, *self.flags(has_vectors), *options)
    if self.is_zig:  # As a linker, `zig c++` first builds a C++ library.
      part = made + ".o"
      yield (*compiling, "-c", source, "-o", part)
      yield (self.command[0], "ld.lld", "-shared", "-z", "defs", part,
             *_c_libraries(), "-o", made)  # fmt: skip
    else:
      # An undefined symbol is an error here, not of loading.
      yield (*compiling, "-shared", "-Wl,--as-needed,-z,defs", source,
             *libraries, *["-lstdc++"][: len(libraries)], "-lm",
             "-o", made)  # fmt: skip

  def precompiling(
      self,
      header: str,
      made: str,
      options: Sequence[str],
      has_vectors: bool = True,
  ) -> tuple[str, ...]:
    """Returns the command that precompiles a header: `-include` then finds it.

    g++ and clang++ look for it beside the header, with `.gch` after its name.
    """
    # clang++ asks for the header's file later, which has been moved by then.
    own = () if self.is_gcc else ("-Xclang", f"-fmodules-embed-file={header}")
    # Without "-c", g++ takes options for the linker as a wish to link.
    return (*self.command, *self.flags(has_vectors), *options, *own,
            "-c", "-x", "c++-header", header, "-o", made)  # fmt: skip


_C_LIBRARIES = "libc.so.6", "libgcc_s.so.1", "libm.so.6"


def _c_libraries():
  """Returns the paths of this process's C libraries.

  jaxlib has loaded all of them; libgcc_s has conversions of 128 bits.
  """
  found = set()
  with open("/proc/self/maps", encoding="utf-8") as file:
    for line in file:
      path = line.rstrip("\n").partition("/")[2]
      if os.path.basename(path) in _C_LIBRARIES:
        found.add("/" + path)
  return sorted(found)


def compiler() -> Compiler:
  """Returns the one that `JAX_FFI_OPS_CXX` names, or the first that is there.

  Raises:
    failures.Unavailable: there is none, or the one that is named does not
      answer.
  """
  own = os.environ.get(VARIABLE)
  tried = []
  for command in [tuple(shlex.split(own))] if own else _candidates():
    found, why = _answer(command)
    if found:
      return found
    tried.append(f"{' '.join(command)} ({why})")
  source = f"{VARIABLE} is" if own else "tried"
  raise failures.Unavailable(
      f"no C++ compiler: {source} {', '.join(tried)}. Install g++ or clang++,"
      ' or `pip install "xla_ffi_ops[compiler]"`.'
  )


def _candidates():
  yield from ((name,) for name in _NAMES)
  try:
    spec = importlib.util.find_spec("ziglang")
  except ValueError:  # A module that is loaded may have none.
    spec = None
  folders = (spec and spec.submodule_search_locations) or ["ziglang"]
  yield os.path.join(folders[0], "zig"), "c++"


def _answer(command):
  """Returns a compiler, or None and why it is none."""
  path = _program(command[0]) if command else None
  if path is None:
    return None, "not found"
  stat = os.stat(path)
  return _asked((path, *command[1:]), stat.st_mtime_ns, stat.st_size)


def _program(name):
  """Returns the absolute path of a program, or None."""
  if os.path.dirname(name):
    return shutil.which(name) if os.path.isabs(name) else None
  # What the current folder has is not what the machine has.
  folders = filter(os.path.isabs, os.get_exec_path())
  return shutil.which(name, path=os.pathsep.join(folders))


@functools.cache
def _asked(command, mtime, size):
  """Asks a compiler for its version, once for each state of its file."""
  del mtime, size
  try:
    with tempfile.TemporaryDirectory() as folder:
      ended = limits.run((*command, "--version"), _ASKING, folder)
  except OSError as error:
    return None, str(error)
  if ended.status or not ended.output.strip():
    return None, f"--version ended with status {ended.status}"
  return Compiler(command, ended.output.strip()), ""
