# SPDX-License-Identifier: Apache-2.0
"""What was compiled, below a folder: an entry for each key.

An entry is a folder with a shared object or a precompiled header, the hash of
its content, and its text for debuggers. It is made beside the others and gets
its name when it is complete, so that processes need not wait for each other.
"""

from collections.abc import Iterator
import contextlib
import errno
import hashlib
import os
import re
import shutil
import tempfile
import time
from typing import NamedTuple

from jax_ffi_ops.kit.toolchain import folders

VARIABLE = "JAX_FFI_OPS_CACHE_MB"
_DEFAULT_MB = 256
_HASH = "sha256"  # The file with the hash.
_ENTRY = re.compile("[0-9a-f]{64}")
_MAKING = "making_"
_TRIES = 30  # to name an entry, while others store and clear it
# A process may be about to load what it has just been given.
_KEPT_SECONDS = 60
# What a process left that was killed; no compiler takes so long.
_LEFT_SECONDS = 86400


class Entry(NamedTuple):
  """What there is of a key.

  Attributes:
    path: its folder.
    used: when it was last used, in seconds since 1970.
    bytes: its files' size.
  """

  path: str
  used: float
  bytes: int


class Cache:
  """The entries below a folder, which nobody else can write."""

  def __init__(self, folder: str):
    self.folder = folder

  def find(self, key: str, name: str) -> str | None:
    """Returns the path of what was made, or None if nothing is complete.

    Args:
      key: 64 hexadecimal digits.
      name: the file's name.
    """
    entry = os.path.join(self.folder, key)
    try:
      wanted = _content(entry, _HASH).decode("ascii", "replace")
      if _hash(_content(entry, name)) != wanted:
        return None
    except OSError:
      return None
    with contextlib.suppress(OSError):  # Of a folder that cannot be written.
      os.utime(entry)
    return os.path.join(entry, name)

  @contextlib.contextmanager
  def making(self) -> Iterator[str]:
    """Makes a folder, in which an entry is made, and removes what is left.

    Raises:
      OSError: nothing can be written here.
    """
    path = tempfile.mkdtemp(prefix=_MAKING, dir=self.folder)
    try:
      yield path
    finally:
      shutil.rmtree(path, ignore_errors=True)

  def store(self, folder: str, key: str, name: str, text: str) -> str:
    """Makes an entry of what is in a folder of `making`.

    Args:
      folder: it has two files.
      key: see `find`.
      name: of the file that was made.
      text: of the file that it was made of.

    Returns:
      The path of what was made.

    Raises:
      OSError: it cannot be written, such as on a full disk.
    """
    made = os.path.join(folder, "entry")
    os.mkdir(made, 0o700)
    for file, mode in ((name, 0o700), (text, 0o600)):
      path = os.path.join(made, file)
      os.rename(os.path.join(folder, file), path)
      os.chmod(path, mode)  # Not what the umask says.
    path = os.path.join(made, _HASH)
    with open(path, "x", encoding="ascii") as file:
      os.chmod(path, 0o600)
      file.write(_hash(_content(made, name)))
    path = self._renamed(made, key, name)
    self.evict()
    return path

  def _renamed(self, made, key, name):
    """Gives an entry its name, unless there is one; returns a file's path."""
    entry = os.path.join(self.folder, key)
    for _ in range(_TRIES):
      try:
        os.rename(made, entry)
        return os.path.join(entry, name)
      except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
          raise
      # Another process was faster, or what is there cannot be used.
      if found := self.find(key, name):
        return found
      self._remove(entry)
    raise FileExistsError(f"{entry!r} cannot be replaced")

  def entries(self) -> list[Entry]:
    """Returns all of them, the least recently used first."""
    found = []
    for item in _items(self.folder):
      if _ENTRY.fullmatch(item.name):
        with contextlib.suppress(OSError):  # Another process has removed it.
          used = item.stat(follow_symlinks=False).st_mtime
          sizes = (
              file.stat(follow_symlinks=False).st_size
              for file in _items(item.path)
          )
          found.append(Entry(item.path, used, sum(sizes)))
    return sorted(found, key=lambda entry: entry.used)

  def evict(self) -> None:
    """Removes the least recently used entries above the cache's size."""
    entries = self.entries()
    excess = sum(entry.bytes for entry in entries) - (most_mb() << 20)
    now = time.time()
    for entry in entries:
      if excess > 0 and now - entry.used > _KEPT_SECONDS:
        self._remove(entry.path)
        excess -= entry.bytes
    for item in _items(self.folder):
      if item.name.startswith(_MAKING):
        with contextlib.suppress(OSError):
          if now - item.stat(follow_symlinks=False).st_mtime > _LEFT_SECONDS:
            shutil.rmtree(item.path, ignore_errors=True)

  def clear(self) -> None:
    """Removes all entries, and nothing else."""
    for entry in self.entries():
      self._remove(entry.path)

  def _remove(self, entry):
    """Removes an entry: at once for others, which never see a part of it."""
    with contextlib.suppress(OSError), self.making() as folder:
      os.rename(entry, os.path.join(folder, "removed"))


def most_mb() -> int:
  """Returns how large a cache may be.

  Raises:
    ValueError: the variable is no number.
  """
  return number(VARIABLE, _DEFAULT_MB)


def number(variable: str, default: int) -> int:
  """Returns a variable's value, which must be a natural number."""
  value = os.environ.get(variable, str(default))
  if not re.fullmatch("[0-9]+", value):
    raise ValueError(f"{variable} is {value!r}, not a number")
  return int(value)


def _content(entry, name):
  """Returns a file's content: of this user's, and without symbolic links."""
  folder = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
  try:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # For a FIFO.
    with open(os.open(name, flags, dir_fd=folder), "rb") as file:
      folders.check_file(os.fstat(file.fileno()), os.path.join(entry, name))
      return file.read()
  finally:
    os.close(folder)


def _hash(content):
  return hashlib.sha256(content).hexdigest()


def _items(folder):
  try:
    with os.scandir(folder) as found:
      return list(found)
  except OSError:
    return []
