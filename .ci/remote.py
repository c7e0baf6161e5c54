# SPDX-License-Identifier: Apache-2.0
"""Builds and tests by remote execution, on the engine of tests/remote.

  remote.py [--host-tools] [BAZEL_OPTION ...]

All that Bazel starts has to run there, on bots that have no compiler and no
Python: --config=hermetic brings them. With --host-tools they have those of this
machine. Meanwhile a bot dies with an action, and the server starts again.
"""

import collections
import contextlib
import hashlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import execution_log

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_TARGETS = (
    "//examples/cyclic_add/...",
    "//python:wheel",
    "//tests/kit/cpp/handler:checks_test",
    "//tests/ops/softmax:softmax_test",
    "//tests/remote:alone",
)
_MUST_RUN = {"CppCompile", "CppLink", "TestRunner"}
CALLS = (
    # At most 200 calls at a time: BuildGrid refuses what is beyond its threads,
    # and Bazel may then wait for ever.
    "--remote_max_connections=2",
    "--remote_retries=20",  # Long enough for a server to start again.
)


class _Program:
  """A program of tests/remote, with its children."""

  def __init__(self, name, script, *arguments):
    run = ("run", f"--script_path={script}", f"//tests/remote:{name}")
    subprocess.run([_ROOT / "bazelw", *run], cwd=_ROOT, check=True)
    self._line = [script, *arguments]
    self.start()

  def start(self):
    self._process = subprocess.Popen(self._line, start_new_session=True)

  def ended(self):
    return self._process.poll() is not None

  def kill(self):
    """Ends it without notice, if it still runs."""
    if not self.ended():
      os.killpg(self._process.pid, signal.SIGKILL)
      self._process.wait()


def _listens(port):
  try:
    socket.create_connection(("127.0.0.1", port)).close()
    return True
  except ConnectionRefusedError:
    return False


@contextlib.contextmanager
def engine(folder):
  """Runs the engine, with all that it keeps in `folder`; yields it."""
  folder.mkdir()
  with socket.create_server(("127.0.0.1", 0)) as free:
    address = f"127.0.0.1:{free.getsockname()[1]}"
  port = address.partition(":")[2]
  program = _Program("engine", folder / "start", folder / "kept", port)
  program.address = address
  try:
    while not _listens(int(port)):
      if program.ended():
        raise RuntimeError("The engine ended before it listened.")
      time.sleep(0.1)
    yield program
  finally:
    program.kill()


@contextlib.contextmanager
def _bots(folder, address, *options):
  """Runs two bots, each in a folder of its own; yields them by these folders."""
  bots = {}
  try:
    for kept in (folder / "one", folder / "two"):
      kept.mkdir(parents=True)
      bots[kept] = _Program("bot", kept / "start", address, kept, *options)
    yield bots
  finally:
    for bot in bots.values():
      bot.kill()


def _disturb(server, bots, events, over):
  """Kills a bot that has an action, then the server, which starts again.

  Once `over` is set, it starts nothing any more.
  """
  folder, bot = next(iter(bots.items()))
  while not any(folder.glob("tmp*/out")):
    if over.wait(0.1):
      return
  bot.kill()
  events.append("a bot died with an action")
  if over.wait(20):
    return
  server.kill()
  server.start()
  events.append("the server started again")


def _changed(folder):
  """Returns the blobs that an action has written to: they are its inputs."""
  changed = []
  for path in folder.glob("[!.]*"):
    with open(path, "rb") as file:
      if hashlib.file_digest(file, "sha256").hexdigest() != path.name:
        changed.append(path.name)
  return changed


def _is_remote(log):
  """Says what ran where; returns whether nothing ran here."""
  counts = collections.defaultdict(collections.Counter)
  for spawn in execution_log.spawns(log):
    counts[spawn["runner"]][spawn["mnemonic"]] += 1
  for runner, kinds in counts.items():
    what = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    print(f"{runner}: {kinds.total()} ({what})")
  return counts.keys() == {"remote"} and _MUST_RUN <= counts["remote"].keys()


def main():
  """Exit status 1 if a test fails, or if anything runs on this machine."""
  options = sys.argv[1:]
  host_tools = [each for each in options if each == "--host-tools"]
  options = [each for each in options if each not in host_tools]
  with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    bazel = [_ROOT / "bazelw", f"--output_base={folder / 'output'}"]
    log = folder / "log.json"
    try:
      with (
          engine(folder / "engine") as server,
          _bots(folder / "bots", server.address, *host_tools) as bots,
      ):
        events, over = [], threading.Event()
        disturbing = threading.Thread(
            target=_disturb, args=(server, bots, events, over)
        )
        disturbing.start()
        options += [
            *("--config=remote", *CALLS),
            f"--remote_executor=grpc://{server.address}",
            f"--execution_log_json_file={log}",
            *("--disk_cache=", "--nobuild_tests_only", "--symlink_prefix=/"),
        ]
        try:
          done = subprocess.run(
              [*bazel, "test", *options, *_TARGETS], cwd=_ROOT, check=False
          )
        finally:
          over.set()
          disturbing.join()
      changed = [name for kept in bots for name in _changed(kept / "blobs")]
      print(f"{len(changed)} inputs were written to", *changed)
      print("Meanwhile:", *events, sep="\n  ")
      failed = done.returncode or changed or len(events) < 2
      sys.exit(bool(failed) or not _is_remote(log))
    finally:
      subprocess.run(
          [*bazel, "clean", "--expunge", "--symlink_prefix=/"],
          cwd=_ROOT,
          check=True,
      )


if __name__ == "__main__":
  main()
