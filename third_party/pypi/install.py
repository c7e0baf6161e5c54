# SPDX-License-Identifier: Apache-2.0
"""Unpacks a lock's wheels into the working directory and writes its BUILD file.

Run by pypi.bzl with an interpreter that has pip. What is written depends on the
lock and the interpreter alone: no times, no paths of this machine.
"""

import multiprocessing
import os
import pathlib
import py_compile
import re
import shutil
import subprocess
import sys
import zipfile

import build_file

_SITE = "site-packages"

# Where the installation schemes of a `name.data/` folder go.
_SCHEMES = {
    "purelib": _SITE,
    "platlib": _SITE,
    "scripts": "bin",
    "headers": "include",
    "data": "",
}

# Bazel takes a folder with one of these for a package of its own.
_PACKAGE_MARKERS = ("BUILD", "BUILD.bazel")

_NOT_IN_LABELS = re.compile(
    r"""[^\w!%@^"#$&'()*+,;<=>?\[\]{}|~/.-]""", re.ASCII
)


def _download(lock, folder):
  """Has pip fetch the lines of `lock` that apply here; returns the wheels."""
  pip = [sys.executable, "-sE", "-m", "pip", "download", "--quiet"]
  exact = ["--require-hashes", "--no-deps", "--only-binary=:all:"]
  command = [*pip, *exact, "--dest", str(folder), "--requirement", lock]
  if subprocess.run(command, check=False).returncode:
    sys.exit("pip could not fetch the lock's wheels.")
  return sorted(folder.glob("*.whl"))


def _destination(member):
  """Returns where a wheel's member goes, or None for one that Bazel refuses."""
  top, _, rest = member.partition("/")
  if top.endswith(".data"):
    scheme, _, rest = rest.partition("/")
    path = pathlib.PurePosixPath(_SCHEMES[scheme], rest)
  else:
    path = pathlib.PurePosixPath(_SITE, member)
  if path.name in _PACKAGE_MARKERS or _NOT_IN_LABELS.search(str(path)):
    return None
  return path


def _unpack(wheel):
  """Unpacks one wheel; returns its name and the files it brought."""
  files = []
  with zipfile.ZipFile(wheel) as archive:
    for info in archive.infolist():
      path = None if info.is_dir() else _destination(info.filename)
      if path is None:
        continue
      target = pathlib.Path(path)
      target.parent.mkdir(parents=True, exist_ok=True)
      with archive.open(info) as source, open(target, "wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
      if path.parts[0] == "bin" or info.external_attr >> 16 & 0o111:
        target.chmod(0o755)
      files.append(str(path))
  return build_file.normalize(wheel.name.partition("-")[0]), sorted(files)


def _compile(source):
  """Byte-compiles a module; returns the new file, or None for a broken one.

  Unchecked: runfiles are links whose times mean nothing, and a sandbox that
  cannot be written to would compile every import again.
  """
  try:
    return os.path.relpath(
        py_compile.compile(
            source,
            dfile=os.path.relpath(source, _SITE),
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    )
  except py_compile.PyCompileError:
    return None  # Templates, and modules for other versions of Python.


def main():
  """Installs the lock named on the command line."""
  lock = sys.argv[1]
  downloads = pathlib.Path("_wheels")
  downloads.mkdir()
  wheels = _download(lock, downloads)
  # What a process compiled before shows in its next results: hence a new one
  # for each chunk, and chunks that do not depend on the number of cores.
  with multiprocessing.Pool(maxtasksperchild=1) as pool:
    packages = dict(pool.map(_unpack, wheels, chunksize=1))
    for files in packages.values():
      modules = [file for file in files if build_file.is_module(file)]
      files += filter(None, pool.map(_compile, modules, chunksize=64))
  shutil.rmtree(downloads)
  extras = build_file.extras_of(pathlib.Path(lock).read_text("utf-8"))
  text = build_file.text(packages, extras)
  pathlib.Path("BUILD.bazel").write_text(text, "utf-8")


if __name__ == "__main__":
  main()
