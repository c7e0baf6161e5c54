# SPDX-License-Identifier: Apache-2.0
"""The test server: what it keeps, and how it runs actions."""

import hashlib
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as reapi,
)
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as reapi_grpc,
)
from buildgrid._protos.google.bytestream import bytestream_pb2
from buildgrid._protos.google.bytestream import bytestream_pb2_grpc
from buildgrid._protos.google.rpc import code_pb2
from buildgrid._protos.google.rpc import error_details_pb2
import grpc
import server


class ServerTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = pathlib.Path(absltest.TEST_TMPDIR.value, "server")
    folder.mkdir()
    cls.server = server.Server(folder)
    running, address = cls.server.start()
    channel = grpc.insecure_channel(address)
    cls.addClassCleanup(running.stop, None)
    cls.addClassCleanup(channel.close)
    cls.cas = reapi_grpc.ContentAddressableStorageStub(channel)
    cls.cache = reapi_grpc.ActionCacheStub(channel)
    cls.execution = reapi_grpc.ExecutionStub(channel)
    cls.stream = bytestream_pb2_grpc.ByteStreamStub(channel)

  def _add(self, data):
    """Puts bytes or a message into the server; returns the digest."""
    if not isinstance(data, bytes):
      data = data.SerializeToString()
    return self.server.blobs.add([data])

  def _execute(self, script, outputs=(), root=None, **fields):
    """Returns the answer to an action of `sh -c script`, and its digest."""
    command = reapi.Command(
        arguments=["sh", "-c", script],
        environment_variables=[{"name": "PATH", "value": "/usr/bin:/bin"}],
        output_paths=outputs,
    )
    action = reapi.Action(
        command_digest=self._add(command),
        input_root_digest=self._add(root or reapi.Directory()),
        **fields,
    )
    return self._run(action)

  def _run(self, action):
    digest = self._add(action)
    request = reapi.ExecuteRequest(action_digest=digest)
    (operation,) = self.execution.Execute(request)
    self.assertTrue(operation.done)
    answer = reapi.ExecuteResponse()
    operation.response.Unpack(answer)
    return answer, digest

  def _text(self, digest):
    return self.server.blobs.path(digest).read_text("utf-8")

  def test_blob_goes_there_and_back(self):
    data = bytes(range(256)) * 8192
    digest = reapi.Digest(
        hash=hashlib.sha256(data).hexdigest(), size_bytes=len(data)
    )
    name = f"blobs/{digest.hash}/{digest.size_bytes}"
    request = reapi.FindMissingBlobsRequest(blob_digests=[digest])
    missing = self.cas.FindMissingBlobs(request).missing_blob_digests
    self.assertEqual(list(missing), [digest])
    parts = [data[:100], data[100:]]
    written = self.stream.Write(
        bytestream_pb2.WriteRequest(
            resource_name=f"uploads/some-id/{name}" * (not i),
            write_offset=100 * i,
            data=part,
            finish_write=bool(i),
        )
        for i, part in enumerate(parts)
    )
    self.assertEqual(written.committed_size, len(data))
    self.assertFalse(self.cas.FindMissingBlobs(request).missing_blob_digests)
    read = self.stream.Read(
        bytestream_pb2.ReadRequest(resource_name=name, read_offset=7)
    )
    self.assertEqual(b"".join(each.data for each in read), data[7:])

  def test_wrong_hash_is_refused(self):
    digest = reapi.Digest(hash="0" * 64, size_bytes=1)
    request = reapi.BatchUpdateBlobsRequest()
    request.requests.add(digest=digest, data=b"x")
    (answer,) = self.cas.BatchUpdateBlobs(request).responses
    self.assertEqual(answer.status.code, code_pb2.INVALID_ARGUMENT)
    with self.assertRaisesRegex(grpc.RpcError, "INVALID_ARGUMENT"):
      self.stream.Write(
          iter(
              [
                  bytestream_pb2.WriteRequest(
                      resource_name=f"uploads/1/blobs/{'0' * 64}/1", data=b"x"
                  )
              ]
          )
      )

  @parameterized.parameters("blobs/", "compressed-blobs/zstd/")
  def test_unknown_blob_is_an_error(self, kind):
    request = bytestream_pb2.ReadRequest(resource_name=f"{kind}{'1' * 64}/5")
    with self.assertRaisesRegex(grpc.RpcError, "NOT_FOUND|INVALID_ARGUMENT"):
      list(self.stream.Read(request))

  def test_action_turns_inputs_into_outputs(self):
    root = reapi.Directory()
    root.files.add(name="in", digest=self._add(b"text"))
    script = (
        "cat in && echo error >&2 && mkdir -p d/e && cp in d/e/copy"
        " && ln -s copy d/e/link && ln -s d/e dangling && echo > a/file"
    )
    outputs = ["a/file", "d", "dangling", "not_made"]
    answer, digest = self._execute(script, outputs, root)
    result = answer.result
    self.assertEqual(result.exit_code, 0, self._text(result.stderr_digest))
    self.assertEqual(self._text(result.stdout_digest), "text")
    self.assertEqual(self._text(result.stderr_digest), "error\n")
    self.assertEqual([f.path for f in result.output_files], ["a/file"])
    self.assertFalse(result.output_files[0].is_executable)
    (link,) = result.output_symlinks
    self.assertEqual((link.path, link.target), ("dangling", "d/e"))
    (folder,) = result.output_directories
    tree = reapi.Tree.FromString(
        self.server.blobs.path(folder.tree_digest).read_bytes()
    )
    (child,) = tree.children
    self.assertEqual(child.files[0].digest, root.files[0].digest)
    self.assertEqual(child.symlinks[0].target, "copy")
    kept = self.cache.GetActionResult(
        reapi.GetActionResultRequest(action_digest=digest)
    )
    self.assertEqual(kept, result)

  @parameterized.parameters(
      ("exit 3", 3), ("kill -9 $$", 137), ("exec no_such_program", 127)
  )
  def test_failure_is_told_and_not_kept(self, script, status):
    answer, digest = self._execute(script)
    self.assertEqual(answer.result.exit_code, status)
    with self.assertRaisesRegex(grpc.RpcError, "NOT_FOUND"):
      self.cache.GetActionResult(
          reapi.GetActionResultRequest(action_digest=digest)
      )

  def test_program_that_is_not_there(self):
    command = self._add(reapi.Command(arguments=["no/such/program"]))
    root = self._add(reapi.Directory())
    action = reapi.Action(command_digest=command, input_root_digest=root)
    result = self._run(action)[0].result
    self.assertEqual(result.exit_code, 127)
    self.assertIn("no/such/program", self._text(result.stderr_digest))

  def test_missing_input_is_asked_for(self):
    digest = reapi.Digest(hash="2" * 64, size_bytes=9)
    root = reapi.Directory()
    root.files.add(name="in", digest=digest)
    answer, _ = self._execute("true", root=root)
    self.assertEqual(answer.status.code, code_pb2.FAILED_PRECONDITION)
    failure = error_details_pb2.PreconditionFailure()
    answer.status.details[0].Unpack(failure)
    (violation,) = failure.violations
    self.assertEqual(violation.type, "MISSING")
    self.assertEqual(violation.subject, f"blobs/{digest.hash}/9")

  def test_time_ends(self):
    answer, _ = self._execute("echo on; sleep 60", timeout={"seconds": 1})
    self.assertEqual(answer.status.code, code_pb2.DEADLINE_EXCEEDED)
    self.assertEqual(self._text(answer.result.stdout_digest), "on\n")

  def test_worker_has_no_tools_and_no_network(self):
    names = "ar as c++ cc clang g++ gcc ld nvcc perl pyenv python python3"
    files = "-name '*.h' -o -name '*.py' -o -name 'python*' -o -name 'gcc*'"
    script = f"""
      for name in {names}; do type $name && exit 1; done
      find / -xdev {files} | grep . && exit 2
      tail -n +3 /proc/net/dev | grep -v lo: && exit 3
      exit 0"""
    result = self._execute(script)[0].result
    told = self._text(result.stdout_digest)
    self.assertEqual(result.exit_code, 0, told)


if __name__ == "__main__":
  absltest.main()
