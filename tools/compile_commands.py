# SPDX-License-Identifier: Apache-2.0
"""Writes compile_commands.json, with which clangd understands our C++.

  bazel run //tools:compile_commands                    as `bazel build //...`
  bazel run //tools:compile_commands -- --config=asan   with Bazel's options

Run it again after a change of BUILD files or options.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

_QUERY = 'mnemonic("CppCompile", //...)'

# What only GCC knows, and what a compilation writes besides.
_GCC_ONLY = ("-fno-canonical-system-headers",)
_OUTPUTS = ("-MF", "-o")

# Relative to the execution root, alone or after an option: -Iexternal/...
_IN_EXECUTION_ROOT = re.compile(r"^(-[A-Za-z]*|)((?:external|bazel-out)/.*)$")


def absolute(argument, output_base, execution_root):
  """Returns an argument without paths that only Bazel's actions can follow.

  The execution root has links to those external repositories only that the last
  build used; the output base has them all.
  """
  match = _IN_EXECUTION_ROOT.match(argument)
  if not match:
    return argument
  option, path = match.groups()
  root = output_base if path.startswith("external/") else execution_root
  return f"{option}{root}/{path}"


def entry(action, workspace, output_base, execution_root):
  """Returns an action of `bazel aquery` as clangd's entry for its source."""
  arguments = []
  words = iter(action["arguments"])
  for word in words:
    if word in _OUTPUTS:
      next(words)
    elif word not in _GCC_ONLY and word != "-MD":
      arguments.append(absolute(word, output_base, execution_root))
  return {
      "directory": workspace,
      "file": arguments[arguments.index("-c") + 1],
      "arguments": arguments,
  }


def entries(actions, workspace, output_base, execution_root):
  """Returns one entry for each source: the first that Bazel lists."""
  by_file = {}
  for action in actions:
    new = entry(action, workspace, output_base, execution_root)
    by_file.setdefault(new["file"], new)
  return sorted(by_file.values(), key=lambda each: each["file"])


def main():
  """Asks Bazel, with the given options, and writes the file."""
  workspace = os.environ["BUILD_WORKSPACE_DIRECTORY"]
  bazel = os.environ.get("BAZEL") or f"{workspace}/bazelw"

  def ask(*command):
    command = [bazel, *command, *sys.argv[1:]]
    answer = subprocess.run(
        command, cwd=workspace, stdout=subprocess.PIPE, text=True
    )
    if answer.returncode:
      sys.exit(f"compile_commands: `bazel {command[1]}` failed.")
    return answer.stdout

  quiet = "--ui_event_filters=-info"
  aquery = ask("aquery", quiet, "--output=jsonproto", _QUERY)
  info = ask("info", quiet, "output_base", "execution_root")
  places = dict(line.split(": ", 1) for line in info.splitlines())
  found = entries(json.loads(aquery)["actions"], workspace, **places)
  path = pathlib.Path(workspace, "compile_commands.json")
  path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
  print(f"{path}: {len(found)} sources")


if __name__ == "__main__":
  main()
