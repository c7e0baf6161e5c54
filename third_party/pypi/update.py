# SPDX-License-Identifier: Apache-2.0
"""Rewrites the locks in the source tree: `bazel run //third_party/pypi:update`.

Versions that are locked stay as long as their .in file allows them; with
`-- --upgrade` all become the newest. Other arguments go to uv likewise.
"""

import os
import pathlib
import re
import subprocess
import sys

_COMMAND = "bazel run //third_party/pypi:update"

# One lock for every platform and for each Python that we support.
_OPTIONS = (
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--only-binary=:all:",
    "--no-emit-index-url",
    "--no-emit-find-links",
    f"--custom-compile-command={_COMMAND}",
    "--quiet",
)


def _constraints(wanted):
  """Returns the locks that an .in file refers to: `-c other.lock`."""
  text = wanted.read_text("utf-8")
  return [wanted.with_name(lock) for lock in re.findall(r"(?m)^-c (\S+)", text)]


def _left_out(lock):
  """Returns options against a second copy of what `lock` has."""
  names = re.findall(r"(?m)^\w[\w.-]*", lock.read_text("utf-8"))
  return [f"--no-emit-package={name}" for name in sorted(set(names))]


def main():
  """Runs uv, which the first argument names, once for each .in file."""
  uv = pathlib.Path.cwd().parent / sys.argv[1]  # Bazel starts us in runfiles.
  folder = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  folder /= "third_party/pypi"
  for wanted in sorted(sorted(folder.glob("*.in")), key=_constraints):
    lock = wanted.with_suffix(".lock").name
    command = [uv, "pip", "compile", wanted.name, "--output-file", lock]
    print(lock, flush=True)
    command += [*_OPTIONS, *sys.argv[2:]]
    for other in _constraints(wanted):
      command += _left_out(other)
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
  main()
