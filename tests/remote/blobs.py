# SPDX-License-Identifier: Apache-2.0
"""The blobs of a bot: files by their SHA-256, which actions link to."""

import hashlib
import os
import pathlib
import tempfile

from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as reapi,
)
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as reapi_grpc,
)
from buildgrid.server.client import cas
import grpc

# Blobs are never written again, and one may be an executable of some action.
_MODE = 0o555


class Blobs:
  """A folder of blobs; what it lacks comes from the server."""

  def __init__(self, folder: pathlib.Path, channel: grpc.Channel):
    self._folder = folder
    self._channel = channel
    self._made: list[reapi.Digest] = []
    folder.mkdir(parents=True, exist_ok=True)
    self.add(b"")  # Nobody uploads it.

  def path(self, digest: reapi.Digest) -> pathlib.Path:
    """Returns a blob's file."""
    path = self._folder / digest.hash
    if not path.exists():
      with (
          tempfile.TemporaryDirectory(
              dir=self._folder, prefix="."
          ) as temporary,
          cas.download(self._channel) as server,
      ):
        fetched = pathlib.Path(temporary, digest.hash)
        server.download_file(digest, str(fetched), queue=False)
        self._link(fetched)
    return path

  def message(self, digest: reapi.Digest, kind: type):
    """Returns the message of this type that a blob has."""
    return kind.FromString(self.path(digest).read_bytes())

  def _link(self, path):
    with open(path, "rb") as file:
      name = hashlib.file_digest(file, "sha256").hexdigest()
    path.chmod(_MODE)
    try:
      os.link(path, self._folder / name)
    except FileExistsError:
      pass
    return reapi.Digest(hash=name, size_bytes=path.stat().st_size)

  def add(self, data: bytes) -> reapi.Digest:
    """Keeps what an action made."""
    with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".") as file:
      file.write(data)
      file.flush()
      return self.add_file(pathlib.Path(file.name))

  def add_file(self, path: pathlib.Path) -> reapi.Digest:
    """Keeps a file that an action made; it stays where it is, as a link."""
    self._made.append(self._link(path))
    return self._made[-1]

  def upload(self) -> None:
    """Sends the server what was added since the last call, if it lacks it."""
    stub = reapi_grpc.ContentAddressableStorageStub(self._channel)
    request = reapi.FindMissingBlobsRequest(blob_digests=self._made)
    missing = stub.FindMissingBlobs(request).missing_blob_digests
    with cas.upload(self._channel) as server:
      for digest in missing:
        server.upload_file(str(self._folder / digest.hash))
    self._made.clear()

  def place(self, digest: reapi.Digest, folder: pathlib.Path) -> None:
    """Makes the folder that a Directory describes."""
    directory = self.message(digest, reapi.Directory)
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
        digest = self.add(child.SerializeToString(deterministic=True))
        directory.directories.add(name=path.name, digest=digest)
      else:
        directory.files.add(name=path.name, **self.file(path))
    return directory

  def file(self, path: pathlib.Path) -> dict[str, object]:
    """Keeps a file; returns the fields that messages have for one."""
    executable = os.access(path, os.X_OK)
    return {"digest": self.add_file(path), "is_executable": executable}
