# SPDX-License-Identifier: Apache-2.0
"""Gives all files one look: clang-format, pyink, ruff and buildifier.

  bazel run //tools:format                 formats what git does not ignore
  bazel run //tools:format -- --check      changes nothing: prints differences
  bazel run //tools:format -- PATH ...     only these files and folders

Exit status 1 if --check has found a difference, or a tool a mistake in a file.
"""

import argparse
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

_STARLARK_NAMES = ("BUILD", "BUILD.bazel", "MODULE.bazel", "WORKSPACE")


def kind(path):
  """Returns the language of a file that we format, else None."""
  if path.suffix in (".cc", ".cu", ".cuh", ".h"):
    return "c++"
  if path.suffix == ".py":
    return "python"
  if path.suffix == ".bzl" or path.name in _STARLARK_NAMES:
    return "starlark"
  return None


def listed(root, folder, paths=()):
  """Returns what we format of the files that git tracks or would track.

  Args:
    root: the workspace.
    folder: folder in it to which `paths` are relative.
    paths: files and folders to look at; by default `folder`.

  Returns:
    Paths relative to `root`.
  """
  command = ["git", "ls-files", "-z", "--full-name", "--cached", "--others"]
  command += ["--exclude-standard", "--deduplicate", "--", *paths]
  output = subprocess.run(
      command, cwd=folder, stdout=subprocess.PIPE, text=True
  )
  if output.returncode:
    sys.exit("format: git does not know which files there are.")
  files = map(pathlib.Path, output.stdout.split("\0")[:-1])
  return [file for file in files if kind(file) and (root / file).is_file()]


def commands(tools, root, files):
  """Returns the command lines that format `files`.

  Args:
    tools: paths of clang-format, ruff and buildifier.
    root: folder with the tools' configuration.
    files: paths relative to the folder where the commands will run.

  Returns:
    A list of command lines; a language without files has none.
  """
  clang_format, ruff, buildifier = tools
  by_kind = {}
  for file in files:
    by_kind.setdefault(kind(file), []).append(str(file))
  style = f"--style=file:{root / '.clang-format'}"
  config = ("--quiet", f"--config={root / 'pyproject.toml'}")
  prefixes = {
      "c++": [(clang_format, "-i", style)],
      "python": [
          (ruff, "check", "--fix", "--no-cache", *config),
          (sys.executable, "-m", "pyink", *config),
      ],
      "starlark": [(buildifier, "-mode=fix", "-lint=warn")],
  }
  return [
      [*prefix, *by_kind[language]]
      for language in prefixes
      if language in by_kind
      for prefix in prefixes[language]
  ]


def run(tools, root, files, folder):
  """Formats `files` in `folder`; returns whether no tool found a mistake."""
  codes = [
      subprocess.run(command, cwd=folder).returncode
      for command in commands(tools, root, files)
  ]
  return not any(codes)


def differences(files, before, after):
  """Yields the lines of a diff between two folders that have `files`."""
  for file in files:
    old, new = (
        (folder / file).read_text("utf-8").splitlines(keepends=True)
        for folder in (before, after)
    )
    yield from difflib.unified_diff(old, new, str(file), f"{file} (formatted)")


def check(tools, root, files, others=()):
  """Prints what formatting would change; returns whether it is nothing.

  Args:
    tools: paths of clang-format, ruff and buildifier.
    root: folder of the files.
    files: what to check, as paths relative to `root`.
    others: what else ruff has to see: it sorts imports by what is ours.
  """
  with tempfile.TemporaryDirectory() as scratch:
    copy = pathlib.Path(scratch)
    for file in {*files, *others}:
      (copy / file).parent.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(root / file, copy / file)
    clean = run(tools, root, files, copy)
    diff = "".join(differences(files, root, copy))
  if diff:
    print(diff, "format: to change this: bazel run //tools:format", sep="\n")
  return clean and not diff


def _arguments():
  parser = argparse.ArgumentParser(prog="format", description=__doc__)
  parser.formatter_class = argparse.RawDescriptionHelpFormatter
  parser.add_argument("tools", nargs=3, help=argparse.SUPPRESS)
  parser.add_argument("--check", action="store_true", help="change nothing")
  parser.add_argument("paths", nargs="*", metavar="PATH")
  return parser.parse_intermixed_args()


def main():
  """Formats or checks; the first arguments are the tools, for Bazel knows."""
  arguments = _arguments()
  # Bazel starts us in the runfiles of its main repository.
  tools = [pathlib.Path.cwd().parent / tool for tool in arguments.tools]
  root = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  folder = pathlib.Path(os.environ["BUILD_WORKING_DIRECTORY"])
  for path in arguments.paths:
    if not (folder / path).exists():
      sys.exit(f"format: there is no {path}.")
  everything = listed(root, root)
  files = everything
  if arguments.paths:
    files = listed(root, folder, arguments.paths)
  if arguments.check:
    clean = check(tools, root, files, everything)
  else:
    clean = run(tools, root, files, root)
  sys.exit(not clean)


if __name__ == "__main__":
  main()
