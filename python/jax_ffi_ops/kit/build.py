# SPDX-License-Identifier: Apache-2.0
"""`kit.build`: handlers of one's own, compiled while a program runs."""

from collections.abc import Iterable, Sequence
import functools
import hashlib
import os
import pathlib
import threading

import jax
import jaxlib

from jax_ffi_ops.kit import toolchain
from jax_ffi_ops.kit.load import elf_sections
from jax_ffi_ops.kit.load import symbols as symbol_names
from jax_ffi_ops.kit.load.library import Library

_HERE = pathlib.Path(__file__).parent / "cpp"
INCLUDE = _HERE / "include"
_ARCHIVE = _HERE / "libxla_ffi_ops.a"
_HEADERS = frozenset(
    (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".ipp", ".tcc", ".def")
)

# Handlers, unlike loops, throw; their macro lets symbols be visible.
_OPTIONS = (
    "-O2",
    "-fexceptions",
    "-fthreadsafe-statics",
    "-fvisibility=default",
    "-ffunction-sections",
    "-Wl,--gc-sections,--exclude-libs,ALL",
)

# How often a text was built. A cell of a notebook that runs again declares its
# ops again: they need other targets, although the handlers are the same.
_times: dict[str, int] = {}
_lock = threading.Lock()

_Path = str | os.PathLike[str]


def build(
    text_or_files: str | os.PathLike[str] | Sequence[os.PathLike[str]],
    *,
    name: str = "handlers",
    options: Sequence[str] = (),
    includes: Sequence[_Path] = (),
    precompiled: bool = False,
) -> Library:
  """Compiles handlers in C++ to a library, which `kit.op` and `kit.call` take.

  The text has `#include "xla_ffi_ops/ffi.h"` and XLA_FFI_OPS_DEFINE_HANDLER. It
  may be changed and built again, and so may the ops of the library: its targets
  have a prefix of their own. What was compiled before comes from a cache.

  Args:
    text_or_files: C++17; or a path, or paths, which are compiled as one.
    name: of the shared object, for debuggers and profilers.
    options: more options of the compiler.
    includes: folders with headers. If one of them changes, or one beside the
      files, they are compiled again; not if a .cc that they include does.
    precompiled: whether to keep xla_ffi_ops/ffi.h in compiled form, for all
      builds with these options and includes. It then comes before the text.

  Returns:
    The library, for the CPU.

  Raises:
    toolchain.Unavailable: there is no compiler, or it cannot be used.
    toolchain.Failed: the compiler refused the text.
  """
  if not _ARCHIVE.exists():
    raise toolchain.Unavailable(f"kit.build needs {str(_ARCHIVE)!r}")
  text, files = _text(text_or_files)
  folders = [
      *map(os.fspath, includes),
      *dict.fromkeys(str(path.parent) for path in files),
  ]
  path = toolchain.shared_object(
      text,
      name=name,
      options=[*_OPTIONS, *options],
      includes=[INCLUDE, jax.ffi.include_dir(), *folders],
      libraries=[_ARCHIVE],
      header=_header() if precompiled else "",
      key=_own_key() + _content([*files, *_headers(folders)]),
  )
  key = pathlib.Path(path).parent.name
  with _lock:
    times = _times[key] = _times.get(key, 0) + 1
  prefix = f"built_{key[:12]}_" + f"{times}_" * (times > 1)
  return Library(path, prefix, _symbols(path, prefix))


def _text(text_or_files):
  """Returns text, and the files that it includes."""
  if isinstance(text_or_files, str):
    return text_or_files, []
  if isinstance(text_or_files, os.PathLike):
    text_or_files = [text_or_files]
  files = [pathlib.Path(path).absolute() for path in text_or_files]
  return "".join(f'#include "{path}"\n' for path in files), files


def _headers(folders) -> Iterable[pathlib.Path]:
  return (
      path
      for folder in folders
      for path in sorted(pathlib.Path(folder).rglob("*"))
      if path.suffix in _HEADERS and path.is_file()
  )


def _content(files):
  """Returns a hash of paths and contents."""
  found = hashlib.sha256()
  for path in files:
    content = path.read_bytes()
    found.update(b"%s\0%d\0" % (os.fsencode(path), len(content)) + content)
  return found.digest()


@functools.cache
def _own_key():
  """Returns a hash of what the kit compiles with, and XLA's version."""
  own = _content([_ARCHIVE, *_headers([INCLUDE])])
  return own + jaxlib.__version__.encode()


def _header():
  """Returns what is precompiled; its comment says which version."""
  return f'// {_own_key().hex()}\n#include "xla_ffi_ops/ffi.h"\n'


def _symbols(path, prefix):
  """Returns which symbols the targets of a library have, of the macros' names."""
  with elf_sections.mapped(path) as data:
    exported = {
        n for n, _ in elf_sections.exported(elf_sections.sections(data))
    }
  found = {}
  for symbol in exported:
    target = symbol.removesuffix("_cpu")
    names = symbol_names.names({}, target, "cpu")
    stages = {part: n for part, n in names.items() if n in exported}
    if symbol != target and "execute" in stages:
      found[prefix + target] = {"cpu": stages}
  return found
