# SPDX-License-Identifier: Apache-2.0
"""The folder for what is compiled, which nobody else can have changed.

A shared object is code that this process runs: who can write it, or put another
folder in its place, is this user.
"""

import atexit
import functools
import os
import pwd
import shutil
import stat
import tempfile
import threading

from jax_ffi_ops.kit import warning

VARIABLE = "JAX_FFI_OPS_CACHE"
_NAME = "jax_ffi_ops"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Some machines let nothing be run from /tmp.
_TEMPORARY = ("/var/tmp", "/dev/shm")

_warned = threading.Event()


class Untrusted(OSError):
  """A folder or a file could be another user's."""


def standard() -> str:
  """Returns the absolute path of the cache, which is made if it is not there.

  Raises:
    OSError: it cannot be made, or it is `Untrusted`, or nothing can be loaded
      from it.
  """
  path = os.environ.get(VARIABLE) or os.path.join(_caches(), _NAME)
  if not os.path.isabs(path):
    raise Untrusted(f"{VARIABLE} is {path!r}, not an absolute path")
  parent, name = os.path.split(os.path.normpath(path))
  os.makedirs(parent, mode=0o700, exist_ok=True)
  # From here on there are no symbolic links.
  path = os.path.join(os.path.realpath(parent), name)
  try:
    os.mkdir(path, 0o700)
  except FileExistsError:
    pass
  _check(path)
  return path


def _caches():
  """Returns the folder of all of this user's caches."""
  path = os.environ.get("XDG_CACHE_HOME", "")
  # By its specification, a relative path is to be ignored.
  return path if os.path.isabs(path) else os.path.join(_home(), ".cache")


def _home():
  """Returns this user's folder: after `sudo`, HOME may be another user's."""
  home = os.environ.get("HOME", "")
  if os.path.isabs(home) and os.path.isdir(home):
    if os.stat(home).st_uid == os.geteuid():
      return home
  try:
    return pwd.getpwuid(os.geteuid()).pw_dir
  except KeyError:
    raise Untrusted("this user has no folder: HOME names none") from None


def _check(path):
  """Refuses a folder that others can write, or replace by another one."""
  own = os.lstat(path)
  if not stat.S_ISDIR(own.st_mode):
    raise Untrusted(f"{path!r} is not a folder")
  if own.st_uid != os.geteuid() or own.st_mode & _OTHERS_WRITE:
    raise Untrusted(f"{path!r} can be written by others")
  check_parents(path)
  if os.statvfs(path).f_flag & os.ST_NOEXEC:
    raise Untrusted(
        f"nothing can be loaded from {path!r}: it is mounted noexec"
    )


def check_parents(path: str) -> None:
  """Refuses a path that others could make another folder's.

  Args:
    path: of a folder, without symbolic links.

  Raises:
    Untrusted: another user owns a folder above, or can rename what is in it.
  """
  while path != os.path.dirname(path):
    path = os.path.dirname(path)
    found = os.lstat(path)
    # With the sticky bit, as in /tmp, only who owns a folder can rename it.
    open_to_all = found.st_mode & _OTHERS_WRITE and not (
        found.st_mode & stat.S_ISVTX
    )
    if found.st_uid not in owners() or open_to_all:
      raise Untrusted(f"others can rename what is in {path!r}")


def owners() -> set[int]:
  """Returns who may own a folder above the cache: root and this user."""
  return {0, os.geteuid()}


def check_file(found: os.stat_result, path: str) -> None:
  """Refuses a file, by its state, that others can write.

  Raises:
    Untrusted: see above.
  """
  if not stat.S_ISREG(found.st_mode):
    raise Untrusted(f"{path!r} is not a file")
  if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
    raise Untrusted(f"{path!r} can be written by others")


@functools.cache
def private() -> str:
  """Returns a folder that this process alone uses, and removes when it ends.

  Raises:
    OSError: there is none from which something can be loaded.
  """
  for parent in (tempfile.gettempdir(), *_TEMPORARY):
    try:
      if not os.statvfs(parent).f_flag & os.ST_NOEXEC:
        path = tempfile.mkdtemp(prefix=_NAME + "_", dir=parent)
        atexit.register(_remove, path, os.getpid())
        return path
    except OSError:
      continue
  raise OSError("no temporary folder from which something can be loaded")


def _remove(path, process):
  if os.getpid() == process:  # Not in a process that is forked.
    shutil.rmtree(path, ignore_errors=True)


def warn(why: str) -> None:
  """Tells, once in a process, that what is compiled is not kept."""
  if not _warned.is_set():
    _warned.set()
    warning.warn(
        f"What is compiled is lost when this process ends: {why}."
        f" {VARIABLE} can name another folder."
    )


# The parent removes its folder when it ends, and that may be sooner.
os.register_at_fork(after_in_child=private.cache_clear)
