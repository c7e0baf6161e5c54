# SPDX-License-Identifier: Apache-2.0
"""The cache of the test server: blobs, and the results of actions."""

import itertools
import os
import pathlib
import re

import blobs
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as reapi,
)
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as reapi_grpc,
)
from buildgrid._protos.google.bytestream import bytestream_pb2
from buildgrid._protos.google.bytestream import bytestream_pb2_grpc
from buildgrid._protos.google.rpc import code_pb2
import grpc

_CHUNK = 1 << 20
# Nothing is compressed: `blobs` alone. Uploads have an id before it.
_RESOURCE = re.compile(r"(?:^|/)blobs/([0-9a-f]{64})/(\d+)$")


class Cache(
    reapi_grpc.ActionCacheServicer,
    reapi_grpc.ContentAddressableStorageServicer,
    bytestream_pb2_grpc.ByteStreamServicer,
):
  """Keeps all in a folder. What Bazel does not call says UNIMPLEMENTED."""

  def __init__(self, folder: pathlib.Path):
    self.blobs = blobs.Blobs(folder / "blobs")
    self._results = folder / "results"
    self._results.mkdir(exist_ok=True)

  def result(self, digest: reapi.Digest) -> reapi.ActionResult | None:
    """Returns what an action made, if it is known."""
    path = self._results / digest.hash
    if path.exists():
      return reapi.ActionResult.FromString(path.read_bytes())
    return None

  def keep_result(
      self, digest: reapi.Digest, result: reapi.ActionResult
  ) -> None:
    """Makes it known, at once and whole."""
    path = self._results / digest.hash
    new = path.with_suffix(f".{os.urandom(8).hex()}")
    new.write_bytes(result.SerializeToString())
    new.replace(path)

  def GetActionResult(self, request, context):
    if result := self.result(request.action_digest):
      return result
    context.abort(grpc.StatusCode.NOT_FOUND, "no result of this action")

  def UpdateActionResult(self, request, context):
    self.keep_result(request.action_digest, request.action_result)
    return request.action_result

  def FindMissingBlobs(self, request, context):
    missing = [d for d in request.blob_digests if not self.blobs.has(d)]
    return reapi.FindMissingBlobsResponse(missing_blob_digests=missing)

  def BatchUpdateBlobs(self, request, context):
    answer = reapi.BatchUpdateBlobsResponse()
    for each in request.requests:
      one = answer.responses.add(digest=each.digest)
      try:
        self.blobs.add([each.data], each.digest.hash)
      except ValueError as error:
        one.status.code = code_pb2.INVALID_ARGUMENT
        one.status.message = str(error)
    return answer

  def BatchReadBlobs(self, request, context):
    answer = reapi.BatchReadBlobsResponse()
    for digest in request.digests:
      one = answer.responses.add(digest=digest)
      try:
        one.data = self.blobs.path(digest).read_bytes()
      except blobs.Missing:
        one.status.code = code_pb2.NOT_FOUND
    return answer

  def _digest(self, name, context):
    """Returns the digest that a resource's name has."""
    if found := _RESOURCE.search(name):
      return reapi.Digest(hash=found[1], size_bytes=int(found[2]))
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no such blob: {name}")

  def Read(self, request, context):
    try:
      path = self.blobs.path(self._digest(request.resource_name, context))
    except blobs.Missing as error:
      context.abort(grpc.StatusCode.NOT_FOUND, str(error))
    left = request.read_limit or path.stat().st_size
    with open(path, "rb") as file:
      file.seek(request.read_offset)
      while data := file.read(min(_CHUNK, left)):
        left -= len(data)
        yield bytestream_pb2.ReadResponse(data=data)

  def Write(self, requests, context):
    first = next(requests)
    digest = self._digest(first.resource_name, context)
    chunks = (each.data for each in itertools.chain([first], requests))
    try:
      self.blobs.add(chunks, digest.hash)
    except ValueError as error:
      context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    return bytestream_pb2.WriteResponse(committed_size=digest.size_bytes)

  def QueryWriteStatus(self, request, context):
    digest = self._digest(request.resource_name, context)
    done = self.blobs.has(digest)
    return bytestream_pb2.QueryWriteStatusResponse(
        committed_size=digest.size_bytes if done else 0, complete=done
    )
