# SPDX-License-Identifier: Apache-2.0
"""Locks Python packages: rewrites `NAME.lock` beside each `NAME.in`.

  bazel run @xla_ffi_ops//third_party/pypi:update -- [NAME.in ...] [OPTION ...]

Without files it is for those of this repository. Versions that are locked stay
as long as their .in file allows them; with `--upgrade` all become the newest.
Options go to `uv pip compile`.
"""

import os
import pathlib
import re
import subprocess
import sys

_COMMAND = "bazel run @xla_ffi_ops//third_party/pypi:update"

# One lock for every platform and for each Python that we support.
_OPTIONS = (
    "--universal",
    "--generate-hashes",
    "--only-binary=:all:",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--quiet",
)
_PYTHON = "--python-version"


def _constraints(wanted):
  """Returns the locks that an .in file refers to: `-c other.lock`."""
  text = wanted.read_text("utf-8")
  return [wanted.with_name(lock) for lock in re.findall(r"(?m)^-c (\S+)", text)]


def _own_options(wanted):
  """Returns the options that an .in file has for itself: `# uv: --no-deps`."""
  return re.findall(r"(?m)^# uv: (\S+)$", wanted.read_text("utf-8"))


def _left_out(lock):
  """Returns options against a second copy of what `lock` has."""
  names = re.findall(r"(?m)^\w[\w.-]*", lock.read_text("utf-8"))
  return [f"--no-emit-package={name}" for name in sorted(set(names))]


def _files(arguments):
  """Returns the .in files to lock, and what a lock says it was made by."""
  named = [each for each in arguments if each.endswith(".in")]
  if named:
    folder = pathlib.Path(os.environ["BUILD_WORKING_DIRECTORY"])
    return [folder / name for name in named], " -- ".join([_COMMAND, *named])
  folder = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  files = sorted((folder / "third_party/pypi").glob("*.in"))
  if not files:
    sys.exit("Name the files to lock: " + _COMMAND + " -- requirements.in")
  return files, _COMMAND.replace("@xla_ffi_ops", "")


def main():
  """Runs uv, which the first argument names, once for each .in file."""
  uv = pathlib.Path.cwd().parent / sys.argv[1]  # Bazel starts us in runfiles.
  files, made_by = _files(sys.argv[2:])
  options = [each for each in sys.argv[2:] if not each.endswith(".in")]
  if not any(each.startswith(_PYTHON) for each in options):
    options.append(f"{_PYTHON}=3.11")
  for wanted in files:
    if not wanted.exists():
      sys.exit(f"There is no {wanted}.")
  for wanted in sorted(files, key=_constraints):
    lock = wanted.with_suffix(".lock").name
    command = [uv, "pip", "compile", wanted.name, "--output-file", lock]
    print(lock, flush=True)
    command += [*_OPTIONS, f"--custom-compile-command={made_by}", *options]
    command += _own_options(wanted)
    for other in _constraints(wanted):
      command += _left_out(other)
    if subprocess.run(command, cwd=wanted.parent, check=False).returncode:
      sys.exit(f"uv could not lock {wanted.name}.")
  if any(each.endswith(".in") for each in sys.argv[2:]):
    print("If it is new, name it: pypi_lock of choose() or xla_ffi_ops_deps().")


if __name__ == "__main__":
  main()
