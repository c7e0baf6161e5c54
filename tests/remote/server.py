# SPDX-License-Identifier: Apache-2.0
"""A server and a worker of Bazel's remote execution, for tests alone.

  server.py FOLDER [--host-tools] [--cache-only]

Not for work: one machine, no authentication, and nothing is ever deleted. All
that it has is in FOLDER. The first line that it prints is its address. Actions
see no compiler and no Python of the machine, unless --host-tools is given. With
--cache-only it runs none, and keeps results that clients bring.
"""

import argparse
from concurrent import futures
import pathlib

import blobs
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as reapi,
)
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as reapi_grpc,
)
from buildgrid._protos.build.bazel.semver import semver_pb2
from buildgrid._protos.google.bytestream import bytestream_pb2_grpc
from buildgrid._protos.google.longrunning import operations_pb2
from buildgrid._protos.google.rpc import code_pb2
from buildgrid._protos.google.rpc import error_details_pb2
import cache
import grpc
import worker

# Bazel uploads thousands of files at once, and waits for actions. By default gRPC
# answers CANCELLED to what waits for 30 s, or when a thousand calls wait.
_OPTIONS = (
    ("grpc.server.max_pending_requests", 1 << 20),
    ("grpc.server.max_pending_requests_hard_limit", 1 << 20),
    ("grpc.server_max_unrequested_time_in_server", 3600),
)
_THREADS = 256  # More than any --jobs: an action takes one while it waits.
# gRPC's own limit on a message is 4 MiB; the rest is for what is around blobs.
_BATCH = 3 << 20


class Server(
    cache.Cache, reapi_grpc.CapabilitiesServicer, reapi_grpc.ExecutionServicer
):
  """All services of one server."""

  def __init__(self, folder, host_tools=False, cache_only=False):
    super().__init__(folder)
    self._worker = None
    if not cache_only:
      self._worker = worker.Worker(self.blobs, folder / "worker", host_tools)

  def start(self):
    """Returns a gRPC server that has started, and its address."""
    server = grpc.server(futures.ThreadPoolExecutor(_THREADS), options=_OPTIONS)
    for module, service in (
        (reapi_grpc, "ActionCache"),
        (reapi_grpc, "Capabilities"),
        (reapi_grpc, "ContentAddressableStorage"),
        (reapi_grpc, "Execution"),
        (bytestream_pb2_grpc, "ByteStream"),
    ):
      getattr(module, f"add_{service}Servicer_to_server")(self, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"

  def GetCapabilities(self, request, context):
    sha256 = reapi.DigestFunction.SHA256
    answer = reapi.ServerCapabilities(
        low_api_version=semver_pb2.SemVer(major=2),
        high_api_version=semver_pb2.SemVer(major=2, minor=1),
    )
    caching = answer.cache_capabilities
    caching.digest_functions.append(sha256)
    caching.action_cache_update_capabilities.update_enabled = True
    caching.max_batch_total_size_bytes = _BATCH
    absolute = reapi.SymlinkAbsolutePathStrategy.ALLOWED
    caching.symlink_absolute_path_strategy = absolute
    if self._worker:
      answer.execution_capabilities.digest_function = sha256
      answer.execution_capabilities.exec_enabled = True
    return answer

  def Execute(self, request, context):
    answer = reapi.ExecuteResponse()
    kept = self.result(request.action_digest)
    if kept and not request.skip_cache_lookup:
      answer.result.CopyFrom(kept)
      answer.cached_result = True
    else:
      try:
        self._run(request.action_digest, answer)
      except blobs.Missing as error:
        # What tells the client to upload it and to ask again.
        failure = error_details_pb2.PreconditionFailure()
        failure.violations.add(type="MISSING", subject=f"blobs/{error}")
        answer.status.code = code_pb2.FAILED_PRECONDITION
        answer.status.details.add().Pack(failure)
    operation = operations_pb2.Operation(
        name=request.action_digest.hash, done=True
    )
    operation.response.Pack(answer)
    yield operation

  def _run(self, digest, answer):
    action = reapi.Action.FromString(self.blobs.path(digest).read_bytes())
    result, late = self._worker.run(action)
    answer.result.CopyFrom(result)
    if late:
      answer.status.code = code_pb2.DEADLINE_EXCEEDED
    elif result.exit_code == 0 and not action.do_not_cache:
      self.keep_result(digest, result)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("folder", type=pathlib.Path)
  parser.add_argument("--host-tools", action="store_true")
  parser.add_argument("--cache-only", action="store_true")
  server, address = Server(**vars(parser.parse_args())).start()
  print(address, flush=True)
  server.wait_for_termination()


if __name__ == "__main__":
  main()
