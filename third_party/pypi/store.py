# SPDX-License-Identifier: Apache-2.0
"""Keeps unpacked wheels, so that a changed lock installs only what changed.

A folder per line of a lock, named by a hash of what its contents depend on.
Repositories have hard links to the files.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import sys
import sysconfig


class Store:
  """The folder in which unpacked wheels are, for all locks of a workspace."""

  def __init__(self, folder, *programs):
    self._folder = pathlib.Path(folder)
    self._folder.mkdir(parents=True, exist_ok=True)
    # Another Python compiles otherwise, and so do other programs.
    self._common = [sys.version, sysconfig.get_platform()]
    self._common += [pathlib.Path(each).read_text("utf-8") for each in programs]

  def path(self, line):
    """Returns the folder of what a lock's line installs; it may be missing."""
    key = "\0".join([*self._common, line])
    return self._folder / hashlib.sha256(key.encode()).hexdigest()

  @contextlib.contextmanager
  def new(self, line):
    """Yields a folder to fill, which is the line's when that is done."""
    final = self.path(line)
    partial = final.with_suffix(f".{os.getpid()}")
    partial.mkdir()
    yield partial
    try:
      partial.rename(final)
    except OSError:  # Another process was as quick.
      shutil.rmtree(partial)

  @contextlib.contextmanager
  def in_use(self):
    """Keeps others from `prune` while folders are filled and linked."""
    with open(self._folder / "lock", "w") as lock:
      fcntl.flock(lock, fcntl.LOCK_SH)
      yield
      try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
      except BlockingIOError:
        return  # The last one does it.
      self._prune()

  def _prune(self):
    """Deletes folders to whose files no repository has a link."""
    for folder in self._folder.iterdir():
      if folder.is_dir() and not any(
          os.stat(os.path.join(root, file)).st_nlink > 1
          for root, _, files in os.walk(folder)
          for file in files
      ):
        shutil.rmtree(folder)


def link(source, target):
  """Makes hard links in `target` to all files below `source`.

  Returns:
    The files' paths, from `source`.
  """
  found = []
  for root, _, files in os.walk(source):
    relative = os.path.relpath(root, source)
    folder = os.path.normpath(os.path.join(target, relative))
    os.makedirs(folder, exist_ok=True)
    for file in files:
      path = os.path.normpath(os.path.join(relative, file))
      destination = os.path.join(folder, file)
      if not os.path.exists(destination):  # Or another wheel has it, too.
        try:
          os.link(os.path.join(root, file), destination)
        except OSError:  # A file system without links.
          shutil.copy2(os.path.join(root, file), destination)
      found.append(path)
  return sorted(found)
