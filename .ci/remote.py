# SPDX-License-Identifier: Apache-2.0
"""Builds and tests by remote execution, on the server of tests/remote.

  remote.py [--host-tools] [BAZEL_OPTION ...]

All that Bazel starts has to run there, on a worker that has no compiler and no
Python: --config=hermetic brings them. With --host-tools the worker has those of
this machine.
"""

import collections
import contextlib
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import execution_log

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_TARGETS = (
    "//examples/cyclic_add/...",
    "//python:wheel",
    "//tests/kit/cpp:checks_test",
    "//tests/ops/softmax:softmax_test",
)
_MUST_RUN = {"CppCompile", "CppLink", "TestRunner"}


@contextlib.contextmanager
def server(folder, *options):
  """Runs the server, with all that it keeps in `folder`; yields its address."""
  folder.mkdir()
  script = folder / "start"
  run = ("run", f"--script_path={script}", "//tests/remote:server")
  subprocess.run([_ROOT / "bazelw", *run], cwd=_ROOT, check=True)
  process = subprocess.Popen(
      [script, folder / "kept", *options],
      stdout=subprocess.PIPE,
      text=True,
      start_new_session=True,
  )
  try:
    yield f"grpc://{process.stdout.readline().strip()}"
  finally:
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def _changed(folder):
  """Returns the blobs that an action has written to: they are its inputs."""
  changed = []
  for path in folder.iterdir():
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
      with server(folder / "server", *host_tools) as address:
        options += [
            "--config=remote",
            f"--remote_executor={address}",
            f"--execution_log_json_file={log}",
            *("--disk_cache=", "--nobuild_tests_only", "--symlink_prefix=/"),
        ]
        done = subprocess.run(
            [*bazel, "test", *options, *_TARGETS], cwd=_ROOT, check=False
        )
      changed = _changed(folder / "server/kept/blobs")
      print(f"{len(changed)} inputs were written to", *changed)
      sys.exit(done.returncode or not _is_remote(log) or bool(changed))
    finally:
      subprocess.run(
          [*bazel, "clean", "--expunge", "--symlink_prefix=/"],
          cwd=_ROOT,
          check=True,
      )


if __name__ == "__main__":
  main()
