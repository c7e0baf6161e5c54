# SPDX-License-Identifier: Apache-2.0
"""Unpacks a lock's wheels into the working directory and writes its BUILD file.

  install.py LOCK STORE CHECK PYTHON PACKAGE ...

Run by pypi.bzl with an interpreter that has pip. What is written depends on the
lock and the interpreter alone: no times, no paths of this machine. STORE is the
folder of `store.py`; CHECK and PYTHON are labels for the BUILD file. The
lock must have each PACKAGE.
"""

import json
import multiprocessing
import os
import pathlib
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import build_file
import lock_file
import store

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


def _download(lines, options, cwd, folder):
  """Has pip fetch some lines of a lock; returns each one's wheel."""
  if not lines:
    return []
  wanted = pathlib.Path(folder, "wanted.txt")
  wanted.write_text("\n".join([*options, *(line.text for line in lines)]))
  pip = [sys.executable, "-sE", "-m", "pip", "download", "--quiet"]
  exact = ["--require-hashes", "--no-deps", "--only-binary=:all:"]
  command = [*pip, *exact, "--dest", folder, "--requirement", str(wanted)]
  if subprocess.run(command, check=False, cwd=cwd).returncode:
    sys.exit("pip could not fetch the lock's wheels.")
  wheels = {
      lock_file.normalize(wheel.name.partition("-")[0]): wheel
      for wheel in pathlib.Path(folder).glob("*.whl")
  }
  return [wheels[line.name] for line in lines]


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


def _unpack(wheel, folder):
  """Unpacks a wheel; returns the modules it brought."""
  modules = []
  with zipfile.ZipFile(wheel) as archive:
    for info in archive.infolist():
      path = None if info.is_dir() else _destination(info.filename)
      if path is None:
        continue
      target = folder / path
      target.parent.mkdir(parents=True, exist_ok=True)
      with archive.open(info) as source, open(target, "wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
      if path.parts[0] == "bin" or info.external_attr >> 16 & 0o111:
        target.chmod(0o755)
      if build_file.is_module(str(path)):
        modules.append((folder, str(path)))
  return modules


def _compile(module):
  """Byte-compiles a module, if it can be.

  Unchecked: runfiles are links whose times mean nothing, and a sandbox that
  cannot be written to would compile every import again.
  """
  folder, path = module
  try:
    py_compile.compile(
        os.path.join(folder, path),
        dfile=os.path.relpath(path, _SITE),
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
  except py_compile.PyCompileError:
    pass  # Templates, and modules for other versions of Python.


def _fill(wheels, shelf, pool):
  """Unpacks and compiles wheels, each as what its line of a lock installs."""
  for line, wheel in wheels:
    with shelf.new(line.text) as folder:
      modules = pool.apply(_unpack, (wheel, folder))
      # What a process compiled before shows in its next results: hence a new
      # one for each chunk, and chunks that do not depend on the number of cores.
      pool.map(_compile, modules, chunksize=64)


def main():
  """Installs the lock named on the command line."""
  lock, folder, check, python, *required = sys.argv[1:]
  lines, options = lock_file.read(pathlib.Path(lock).read_text("utf-8"))
  if lacks := set(required) - {line.name for line in lines}:
    sys.exit(
        f"{lock} has no {', '.join(sorted(lacks))}: add it to the .in file, and"
        " lock again."
    )
  shelf = store.Store(folder, __file__, build_file.__file__, store.__file__)
  with shelf.in_use():
    missing = [line for line in lines if not shelf.path(line.text).exists()]
    with (
        tempfile.TemporaryDirectory(dir=os.getcwd()) as downloads,
        multiprocessing.Pool(maxtasksperchild=1) as pool,
    ):
      wheels = _download(missing, options, os.path.dirname(lock), downloads)
      _fill(zip(missing, wheels), shelf, pool)
    packages = {
        line.name: store.link(shelf.path(line.text), ".") for line in lines
    }
  extras = {line.name: line.extras for line in lines}
  text = build_file.text(packages, extras, check, python)
  pathlib.Path("BUILD.bazel").write_text(text, "utf-8")
  names = re.findall(r'(?m)^    name = "((?!python_check)[a-z]\w*)"', text)
  targets = f"TARGETS = {json.dumps(names, indent=4)}\n"
  pathlib.Path("targets.bzl").write_text(targets, "utf-8")


if __name__ == "__main__":
  main()
