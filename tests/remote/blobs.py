# SPDX-License-Identifier: Apache-2.0
"""The blobs of the test server: files by their SHA-256, which actions link to."""

from collections.abc import Iterable
import hashlib
import os
import pathlib
import tempfile

from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as reapi,
)

# Blobs are never written again, and one may be an executable of some action.
_MODE = 0o555


class Missing(Exception):
  """A blob that the client has to upload: HASH/SIZE."""


class Blobs:
  """A folder of blobs."""

  def __init__(self, folder: pathlib.Path):
    self._folder = folder
    folder.mkdir(parents=True, exist_ok=True)
    self.add([b""])  # Clients do not upload it.

  def has(self, digest: reapi.Digest) -> bool:
    return (self._folder / digest.hash).exists()

  def path(self, digest: reapi.Digest) -> pathlib.Path:
    """Returns a blob's file; raises Missing."""
    if not self.has(digest):
      raise Missing(f"{digest.hash}/{digest.size_bytes}")
    return self._folder / digest.hash

  def add(self, chunks: Iterable[bytes], name: str = "") -> reapi.Digest:
    """Keeps what the client sends; ValueError if its hash is not `name`."""
    sha256 = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".") as file:
      for chunk in chunks:
        sha256.update(chunk)
        file.write(chunk)
      file.flush()
      if name not in ("", sha256.hexdigest()):
        raise ValueError(f"{name} has the hash {sha256.hexdigest()}")
      return self.add_file(pathlib.Path(file.name))

  def add_file(self, path: pathlib.Path) -> reapi.Digest:
    """Keeps a file, which stays where it is, as a link."""
    with open(path, "rb") as file:
      name = hashlib.file_digest(file, "sha256").hexdigest()
    path.chmod(_MODE)
    try:
      os.link(path, self._folder / name)
    except FileExistsError:
      pass
    return reapi.Digest(hash=name, size_bytes=path.stat().st_size)

  def place(self, digest: reapi.Digest, folder: pathlib.Path) -> None:
    """Makes the folder that a Directory describes; raises Missing."""
    directory = reapi.Directory.FromString(self.path(digest).read_bytes())
    folder.mkdir()
    for file in directory.files:
      os.link(self.path(file.digest), folder / file.name)
    for link in directory.symlinks:
      (folder / link.name).symlink_to(link.target)
    for child in directory.directories:
      self.place(child.digest, folder / child.name)

  def collect(
      self, folder: pathlib.Path, seen: list[reapi.Directory]
  ) -> reapi.Directory:
    """Keeps what is in a folder; `seen` gets the folders in it."""
    directory = reapi.Directory()
    for path in sorted(folder.iterdir()):
      if path.is_symlink():
        directory.symlinks.add(name=path.name, target=str(path.readlink()))
      elif path.is_dir():
        child = self.collect(path, seen)
        seen.append(child)
        digest = self.add([child.SerializeToString(deterministic=True)])
        directory.directories.add(name=path.name, digest=digest)
      else:
        directory.files.add(name=path.name, **self.file(path))
    return directory

  def file(self, path: pathlib.Path) -> dict[str, object]:
    """Keeps a file; returns the fields that messages have for one."""
    executable = os.access(path, os.X_OK)
    return {"digest": self.add_file(path), "is_executable": executable}
