# SPDX-License-Identifier: Apache-2.0
"""Runs actions, each in a folder of its own."""

import os
import pathlib
import signal
import subprocess
import tempfile

import blobs
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as reapi,
)

SCRIPT = pathlib.Path(__file__).with_name("worker.sh")
_UNSHARE = "unshare --map-root-user --mount --net --pid --fork --kill-child"


class Worker:
  """Runs one action at a time."""

  def __init__(
      self,
      store: blobs.Blobs,
      folder: pathlib.Path,
      image: pathlib.Path | None,
  ):
    """Actions see `image` of the machine, or all of it."""
    self._store = store
    self._folder = folder
    self._image = image

  def run(self, action: reapi.Action) -> tuple[reapi.ActionResult, bool]:
    """Returns what an action did, and whether it ran out of time."""
    command = self._store.message(action.command_digest, reapi.Command)
    with tempfile.TemporaryDirectory(
        dir=self._folder, ignore_cleanup_errors=True
    ) as temporary:
      tree = pathlib.Path(temporary, "tree")
      self._store.place(action.input_root_digest, tree)
      where = tree / command.working_directory
      # Before version 2.1 of the protocol there were no paths.
      outputs = command.output_paths or [
          *command.output_files,
          *command.output_directories,
      ]
      for path in outputs:
        (where / path).parent.mkdir(parents=True, exist_ok=True)
      seconds = action.timeout.ToTimedelta().total_seconds() or None
      logs = pathlib.Path(temporary, "out"), pathlib.Path(temporary, "err")
      status = self._start(command, tree, logs, seconds)
      result = reapi.ActionResult(
          exit_code=-signal.SIGKILL if status is None else status,
          stdout_digest=self._store.add_file(logs[0]),
          stderr_digest=self._store.add_file(logs[1]),
      )
      for path in outputs:
        self._add_output(result, path, where / path)
    return result, status is None

  def _start(self, command, tree, logs, seconds):
    """Returns the exit status, or None if the time was up."""
    if self._image:
      line = [*_UNSHARE.split(), SCRIPT, "run", self._image, tree]
      root = pathlib.PurePosixPath("/work")
    else:
      line, root = [], tree
    # `env` says what is wrong with a program that cannot be started.
    line += ["env", "-i", f"--chdir={root / command.working_directory}"]
    line += [f"{v.name}={v.value}" for v in command.environment_variables]
    with open(logs[0], "wb") as out, open(logs[1], "wb") as err:
      process = subprocess.Popen(
          [*line, *command.arguments],
          stdin=subprocess.DEVNULL,
          stdout=out,
          stderr=err,
          start_new_session=True,
      )
      try:
        return process.wait(seconds)
      except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None

  def _add_output(self, result, name, path):
    """Adds what is at the path of an output, if anything is."""
    if path.is_symlink():
      result.output_symlinks.add(path=name, target=str(path.readlink()))
    elif path.is_dir():
      children = []
      root = self._store.collect(path, children)
      tree = reapi.Tree(root=root, children=children)
      digest = self._store.add(tree.SerializeToString(deterministic=True))
      result.output_directories.add(path=name, tree_digest=digest)
    elif path.exists():
      result.output_files.add(path=name, **self._store.file(path))
