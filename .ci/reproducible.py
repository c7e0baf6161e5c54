# SPDX-License-Identifier: Apache-2.0
"""Builds twice, in different folders, and compares what came out bit for bit.

  reproducible.py BAZEL_BUILD_ARGUMENT ...

Compares objects, archives, shared objects, wheels, and the files of sites. The
builds share nothing but the machine: each has a copy of the work tree, with
what is not committed yet, and an output base of its own.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_SUFFIXES = (
    *(".a", ".css", ".html", ".inv", ".js", ".lo", ".o", ".so", ".svg", ".txt"),
    ".whl",
)


def copy_tree(folder):
  """Copies the files that git does not ignore."""
  listed = subprocess.run(
      ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
      cwd=_ROOT,
      check=True,
      stdout=subprocess.PIPE,
      text=True,
  ).stdout
  for name in listed.split("\0")[:-1]:
    if (_ROOT / name).is_file():
      (folder / name).parent.mkdir(parents=True, exist_ok=True)
      shutil.copy2(_ROOT / name, folder / name)


def build(folder, arguments):
  """Builds a copy of the tree; returns hashes by path below bazel-bin."""
  tree = folder / "tree"
  copy_tree(tree)
  bazel = ["./bazelw", f"--output_base={folder / 'output'}"]
  try:
    subprocess.run([*bazel, "build", *arguments], cwd=tree, check=True)
  finally:
    subprocess.run([*bazel, "shutdown"], cwd=tree, check=True)
  return hashes(tree, _SUFFIXES)


def hashes(tree, suffixes):
  """Returns hashes by path below bazel-bin; links are there as files, too."""
  built = (tree / "bazel-bin").resolve()
  return {
      str(path.relative_to(built)): hashlib.sha256(
          path.read_bytes()
      ).hexdigest()
      for path in sorted(built.rglob("*"))
      if path.suffix in suffixes and path.is_file() and not path.is_symlink()
  }


def main():
  """Builds what the command line says; exit status 1 if two files differ."""
  if len(sys.argv) == 1:
    sys.exit(__doc__)
  folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
  try:
    first, second = (
        build(folder / name, sys.argv[1:])
        for name in ("one", "another/of_a_longer_name")
    )
  finally:
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)
  different = [
      name
      for name in sorted(first.keys() | second.keys())
      if first.get(name) != second.get(name)
  ]
  for name in different:
    print(f"differs: {name}")
  print(f"{len(first)} files compared, {len(different)} differ")
  sys.exit(bool(different) or not first)


if __name__ == "__main__":
  main()
