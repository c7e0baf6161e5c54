# SPDX-License-Identifier: Apache-2.0
"""Makes a shared object of C++ text, or finds it in the cache."""

from collections.abc import Iterator, Sequence
import hashlib
import os
import re
import threading

from jax_ffi_ops.kit.toolchain import cache
from jax_ffi_ops.kit.toolchain import compilers
from jax_ffi_ops.kit.toolchain import failures
from jax_ffi_ops.kit.toolchain import limits
from jax_ffi_ops.kit.toolchain import places
from jax_ffi_ops.kit.toolchain import texts

SWITCH = "JAX_FFI_OPS_COMPILE"
SECONDS = "JAX_FFI_OPS_COMPILE_SECONDS"
MEGABYTES = "JAX_FFI_OPS_COMPILE_MB"
_LINES = 4  # of what a compiler prints; some print thousands.
_WIDTH = 200
_CRASH = re.compile("internal compiler error|PLEASE submit a bug|Killed signal")
_WRONG = re.compile("error:|undefined")
_TOO_LARGE = re.compile("out of memory|memory exhausted|bad_alloc")

# One for each key: of threads that ask for one object, one compiles it. They are
# few and small, as what is loaded for them is not unloaded either.
_locks: dict[str, threading.Lock] = {}
# A process that is forked has no thread that would open what is locked.
os.register_at_fork(after_in_child=_locks.clear)


def shared_object(
    text: str,
    *,
    name: str = "kernel",
    options: Sequence[str] = (),
    includes: Sequence[str | os.PathLike[str]] = (),
    libraries: Sequence[str | os.PathLike[str]] = (),
    key: bytes = b"",
    has_vectors: bool = True,
) -> str:
  """Returns the path of a shared object of C++ text; it is not loaded.

  It comes from the cache if it was compiled before, by the same compiler, with
  the same options, for the same CPU level. Texts may differ in comments. It
  stays there for at least a minute.

  Args:
    text: C++17, without exceptions. What is to be exported says so: by default,
      symbols are hidden.
    name: of the file, for debuggers and profilers.
    options: of the compiler, besides those for all texts.
    includes: folders with headers.
    libraries: archives of code for g++'s C++ library, to link with.
    key: whatever else the object depends on, such as the content of headers.
    has_vectors: whether the text computes with vectors. Other texts compile in
      less time.

  Raises:
    failures.Unavailable: nothing can be compiled here.
    failures.Failed: the compiler refused the text, or took too much.
    ValueError: an argument or an environment variable is wrong.
  """
  if not re.fullmatch("[A-Za-z0-9_]{1,200}", name):
    raise ValueError(f"name must be letters, digits and '_', got {name!r}")
  if os.environ.get(SWITCH) == "0":
    raise failures.Unavailable(f"{SWITCH} is 0")
  cache.most_mb()  # Wrong values are told before anything is compiled.
  within = limits.Limits(
      cache.number(SECONDS, 120), cache.number(MEGABYTES, 4096)
  )
  compiler = compilers.compiler()
  if libraries and compiler.is_zig:  # Its C++ library is another one.
    raise failures.Unavailable(
        f"this needs g++ or clang++, not {compiler.name}"
    )
  paths = [os.path.abspath(path) for path in includes]
  linked = [os.path.abspath(path) for path in libraries]
  options = [*options, *(f"-I{path}" for path in paths)]
  parts = (
      texts.without_comments(text),
      name,
      *compiler.key(has_vectors),
      *options,
      *linked,
  )
  digest = _digest([*(part.encode() for part in parts), key])
  with _locks.setdefault(digest, threading.Lock()):
    build = _Build(
        compiler, text, name, options, linked, digest, within, has_vectors
    )
    return build.found_or_made()


def _digest(parts):
  """Returns a hash of byte strings, of which none can be taken for two."""
  sizes = b" ".join(b"%d" % len(part) for part in parts)
  return hashlib.sha256(b"\n".join([sizes, *parts])).hexdigest()


class _Build:
  """One text, for one compiler."""

  def __init__(
      self, compiler, text, name, options, libraries, key, within, has_vectors
  ):
    self._compiler = compiler
    self._text = text
    self._name = name
    self._options = options
    self._libraries = libraries
    self._key = key
    self._within = within
    self._has_vectors = has_vectors

  def found_or_made(self):
    """Returns the path of the object."""
    why = None
    for found in _caches():
      if isinstance(found, OSError):
        why = found
        continue
      if path := found.find(self._key, self._name):
        return path
      try:
        path = self._make(found)
      except OSError as error:
        why = error
        continue
      if why:
        places.warn(str(why))
      return path
    raise failures.Unavailable(f"no folder to compile in: {why}")

  def _make(self, kept):
    """Compiles, again without most optimizations if the compiler crashes."""
    with kept.making() as folder:
      # A file's name, without folder: the text may ask for it.
      with open(
          os.path.join(folder, self._name + ".cc"), "x", encoding="utf-8"
      ) as file:
        file.write(self._text)
      ended = self._run(folder, self._options)
      if _is_crash(ended):
        ended = self._run(folder, [*self._options, "-O1"])
      if ended.late or ended.status:
        self._fail(ended)
      return kept.store(folder, self._key, self._name)

  def _run(self, folder, options):
    """Runs the compiler's commands up to the first that fails."""
    for command in self._compiler.commands(
        self._name + ".cc",
        self._name + ".so",
        options,
        self._libraries,
        self._has_vectors,
    ):
      # Zig's own cache can be gigabytes.
      zig = {f"ZIG_{kind}_CACHE_DIR": folder for kind in ("LOCAL", "GLOBAL")}
      ended = limits.run(command, self._within, folder, zig)
      if ended.late or ended.status:
        break
    return ended

  def _fail(self, ended):
    if "No space left on device" in ended.output:
      raise OSError("no space left on device")
    who = self._compiler.name
    if ended.late:
      raise failures.Failed(
          f"{who} took more than {self._within.seconds} s ({SECONDS}) to compile"
          f" {self._name}"
      )
    if _TOO_LARGE.search(ended.output):
      raise failures.Failed(
          f"{who} needs more than {self._within.megabytes} MB ({MEGABYTES}) to"
          f" compile {self._name}"
      )
    what = "crashed on" if _is_crash(ended) else "refused"
    raise failures.Failed(f"{who} {what} {self._name}: {_told(ended)}")


def _caches() -> Iterator[cache.Cache | OSError]:
  """Yields where to look for objects and to put them, or why not there."""
  for place in (places.standard, places.private):
    try:
      yield cache.Cache(place())
    except OSError as error:
      yield error


def _is_crash(ended):
  if ended.late or not ended.status:
    return False
  # A shell's wrapper adds 128 to a signal.
  died = ended.status < 0 or ended.status > 128
  return died or bool(_CRASH.search(ended.output))


def _told(ended):
  """Returns the lines that say what is wrong, cut."""
  lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
  errors = [line for line in lines if _WRONG.search(line)] or lines
  told = [line[:_WIDTH] for line in errors[:_LINES]]
  return "\n".join(told) or f"it ended with status {ended.status}"
