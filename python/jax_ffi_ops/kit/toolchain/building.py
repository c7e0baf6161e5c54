# SPDX-License-Identifier: Apache-2.0
"""Makes a shared object of C++ text, or finds it in the cache."""

from collections.abc import Callable, Iterable, Iterator, Sequence
import dataclasses
import hashlib
import os
import re
import threading

from jax_ffi_ops.kit.toolchain import cache
from jax_ffi_ops.kit.toolchain import compilers
from jax_ffi_ops.kit.toolchain import failures
from jax_ffi_ops.kit.toolchain import folders
from jax_ffi_ops.kit.toolchain import limits
from jax_ffi_ops.kit.toolchain import texts

SWITCH = "JAX_FFI_OPS_COMPILE"
SECONDS = "JAX_FFI_OPS_COMPILE_SECONDS"
MEGABYTES = "JAX_FFI_OPS_COMPILE_MB"
# What jax's variables take.
_OFF = ("0", "false", "off", "no", "n", "f")
_ON = ("1", "true", "on", "yes", "y", "t")
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
# The keys of headers that the compiler did not precompile.
_refused_headers: set[str] = set()


def is_off() -> bool:
  """Returns whether the user wants nothing to be compiled.

  Raises:
    ValueError: the variable has neither of the values that jax's have.
  """
  value = os.environ.get(SWITCH, "1").lower()
  if value not in _OFF + _ON:
    raise ValueError(f"{SWITCH} is {value!r}, not one of {_OFF + _ON}")
  return value in _OFF


def shared_object(
    text: str,
    *,
    name: str = "kernel",
    options: Sequence[str] = (),
    includes: Sequence[str | os.PathLike[str]] = (),
    libraries: Sequence[str | os.PathLike[str]] = (),
    key: bytes = b"",
    has_vectors: bool = True,
    header: str = "",
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
    header: text to come before that text. It is precompiled, if the compiler
      can: once for all objects with the same options. Unlike `text`, its
      comments count: they can name the versions of what it includes.

  Raises:
    failures.Unavailable: nothing can be compiled here.
    failures.Failed: the compiler refused the text, or took too much.
    ValueError: an argument or an environment variable is wrong.
  """
  if not re.fullmatch("[A-Za-z0-9_]{1,200}", name):
    raise ValueError(f"name must be letters, digits and '_', got {name!r}")
  if is_off():
    raise failures.Unavailable(f"{SWITCH} is {os.environ[SWITCH]}")
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
  own = (name, *compiler.key(has_vectors), *options, *linked)
  build = _Build(
      key=_digest(texts.without_comments(text), *own, key=key),
      name=name,
      suffixes=(".cc", ".so"),
      text=text,
      commands=lambda more: compiler.commands(
          name + ".cc", name + ".so", [*options, *more], linked, has_vectors
      ),
      who=compiler.name,
      within=within,
  )
  if header:
    before = dataclasses.replace(
        build,
        key=_digest(header, *own[1:], key=b"header"),
        name="header",
        suffixes=(".h", ".h.gch"),
        text=header,
        commands=lambda more: [
            compiler.precompiling(
                "header.h", "header.h.gch", [*options, *more], has_vectors
            )
        ],
    )
    build = dataclasses.replace(build, header=before)
  return build.found_or_made()


def _digest(*parts: str, key: bytes) -> str:
  """Returns a hash of texts, of which none can be taken for two."""
  encoded = [*(part.encode() for part in parts), key]
  sizes = b" ".join(b"%d" % len(part) for part in encoded)
  return hashlib.sha256(b"\n".join([sizes, *encoded])).hexdigest()


@dataclasses.dataclass(frozen=True)
class _Build:
  """What one compiler makes of one text.

  Attributes:
    key: of the cache.
    name: of the files, without their suffixes.
    suffixes: of the text, and of what is made.
    text: C++.
    commands: returns the compiler's commands; it takes more options.
    who: the compiler's name.
    within: what it may take.
    header: what makes a precompiled header for the text.
  """

  key: str
  name: str
  suffixes: tuple[str, str]
  text: str
  commands: Callable[[Sequence[str]], Iterable[Sequence[str]]]
  who: str
  within: limits.Limits
  header: "_Build | None" = None

  def found_or_made(self) -> str:
    """Returns the path of what is made."""
    with _locks.setdefault(self.key, threading.Lock()):
      return self._found_or_made()

  def _found_or_made(self):
    why = None
    for found in _caches():
      if isinstance(found, OSError):
        why = found
        continue
      if path := found.find(self.key, self.name + self.suffixes[1]):
        return path
      try:
        path = self._make(found)
      except OSError as error:
        why = error
        continue
      if why:
        folders.warn(str(why))
      return path
    raise failures.Unavailable(f"no folder to compile in: {why}")

  def _make(self, kept):
    source, made = (self.name + suffix for suffix in self.suffixes)
    with kept.making() as folder:
      # A file's name, without folder: the text may ask for it.
      with open(os.path.join(folder, source), "x", encoding="utf-8") as file:
        file.write(self.text)
      ended = self._compiled(folder)
      if ended.late or ended.status:
        self._fail(ended)
      return kept.store(folder, self.key, made, source)

  def _compiled(self, folder):
    """Compiles, and again without what the compiler cannot do."""
    if path := self.header and self.header.header_path():
      ended = self._run(folder, ["-include", path])
      about_it = path in ended.output or "PCH" in ended.output
      if not (_is_crash(ended) or ended.status and about_it):
        return ended
    ended = self._run(folder, [])
    return self._run(folder, ["-O1"]) if _is_crash(ended) else ended

  def header_path(self) -> str | None:
    """Returns a header beside which it is precompiled, or None if it cannot."""
    if self.key in _refused_headers:
      return None
    try:
      return self.found_or_made().removesuffix(".gch")
    except (failures.Failed, failures.Unavailable):
      _refused_headers.add(self.key)
      return None

  def _run(self, folder, options):
    """Runs the compiler's commands up to the first that fails."""
    for command in self.commands(options):
      # Zig's own cache can be gigabytes.
      zig = {f"ZIG_{kind}_CACHE_DIR": folder for kind in ("LOCAL", "GLOBAL")}
      ended = limits.run(command, self.within, folder, zig)
      if ended.late or ended.status:
        break
    return ended

  def _fail(self, ended):
    if "No space left on device" in ended.output:
      raise OSError("no space left on device")
    who = self.who
    if ended.late:
      raise failures.Failed(
          f"{who} took more than {self.within.seconds} s ({SECONDS}) to compile"
          f" {self.name}"
      )
    if _TOO_LARGE.search(ended.output):
      raise failures.Failed(
          f"{who} needs more than {self.within.megabytes} MB ({MEGABYTES}) to"
          f" compile {self.name}"
      )
    what = "crashed on" if _is_crash(ended) else "refused"
    raise failures.Failed(f"{who} {what} {self.name}: {_told(ended)}")


def _caches() -> Iterator[cache.Cache | OSError]:
  """Yields where to look for objects and to put them, or why not there."""
  for folder in (folders.standard, folders.private):
    try:
      yield cache.Cache(folder())
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
