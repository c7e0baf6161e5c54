# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel, and tries it where there is neither Bazel nor this tree.

  wheels.py [PYTHON:JAX ...]

auditwheel and twine look at it. Then, for each pair, a clean venv gets it with
that jax, and runs the doctor, the tests of an op, and those of ops that g++
alone has built. So does the wheel with CUDA for the first pair, on the CPU. A
type checker reads an example. pip takes packages from where it always does.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_TESTS = _ROOT / "tests/wheel"
_PAIRS = (
    *("3.11:0.9.2", "3.11:0.10.2"),
    *("3.12:0.10.2", "3.12:0.11.2", "3.12:0.12.0.1"),
    "3.13:0.12.0.1",
)
_RESOLVED = "3.14"  # Only whether pip finds all that the wheel requires.
_GLIBC = 28  # 2.28
_ENVIRONMENT = {k: v for k, v in os.environ.items() if k[:6] != "PYTHON"} | {
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "PYTHONNOUSERSITE": "1",
}


def _run(*command, **options):
  """Runs a command; returns what it prints."""
  print("$", *command, flush=True)
  done = subprocess.run(
      list(map(str, command)),
      env=_ENVIRONMENT,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      **options,
  )
  print("\n".join(done.stdout.splitlines()[-40:]), flush=True)
  return done


def _must(*command, **options):
  if (done := _run(*command, **options)).returncode:
    sys.exit(f"wheels: this failed: {' '.join(map(str, command))}")
  return done.stdout


def _build(folder, *options):
  """Returns the path of a copy of the wheel: a later build removes the file."""
  bazel = _ROOT / "bazelw"
  wheel = ("--config=hermetic", *options, "//python:wheel")
  _must(bazel, "build", *wheel, cwd=_ROOT)
  quiet = ("--ui_event_filters=-info", "--noshow_progress", "--output=files")
  printed = _must(bazel, "cquery", *quiet, *wheel, cwd=_ROOT)
  return pathlib.Path(shutil.copy(_ROOT / printed.split()[-1], folder))


def _find(version):
  """Returns the path of a Python, or None."""
  pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
  installed = pathlib.Path(pyenv, "versions").glob(f"{version}.*/bin/python3")
  for python in (f"python{version}", *installed):
    try:
      return subprocess.check_output(
          [python, "-c", "import sys; print(sys.executable)"],
          stderr=subprocess.DEVNULL,
          text=True,
      ).strip()
    except (OSError, subprocess.CalledProcessError):
      pass  # A name of pyenv is there for versions that are not.
  return None


def _venv(folder, python, *packages):
  """Returns the Python of a new venv that has these packages."""
  _must(python, "-m", "venv", folder)
  own = folder / "bin/python"
  _must(own, "-m", "pip", "install", "--quiet", *packages)
  return own


def _copy(folder, *files):
  folder.mkdir()
  for file in files:
    (folder / file.name).write_bytes(file.read_bytes())


def _check_file(wheel, bin_):
  """auditwheel finds no newer symbol than the tag says, twine no flaw."""
  shown = " ".join(_must(bin_ / "auditwheel", "show", wheel).split())
  found = re.search(
      r'consistent with the following platform tag: "manylinux_2_(\d+)_x86_64"',
      shown,
  )
  if not found or int(found[1]) > _GLIBC or f"2_{_GLIBC}_" not in wheel.name:
    sys.exit(f"wheels: {wheel.name} is not for glibc 2.{_GLIBC}")
  _must(bin_ / "twine", "check", "--strict", wheel)


def _check_types(python, bin_, folder):
  """The checker takes what is right, and finds what is wrong."""
  _copy(folder, *_TESTS.glob("*.py"))
  mypy = (bin_ / "mypy", "--python-executable", python, "--check-untyped-defs")
  _must(*mypy, "typed.py", cwd=folder)
  file = "wrongly_typed.py"
  lines = (folder / file).read_text("utf-8").splitlines()
  expected = [
      (str(number), line.rpartition("  # ")[2])
      for number, line in enumerate(lines, 1)
      if "  # " in line
  ]
  told = _run(*mypy, file, cwd=folder).stdout
  found = re.findall(rf"(?m)^{file}:(\d+): error: .*\[([\w-]+)\]$", told)
  if found != expected:
    sys.exit(f"wheels: mypy finds {found} and not {expected}")


def _resolve(python, wheel, folder):
  """pip finds all that the wheel requires on a Python that is not here."""
  platforms = [
      f"--platform=manylinux_2_{n}_x86_64" for n in range(17, _GLIBC + 1)
  ]
  _must(
      *(python, "-m", "pip", "install", "--dry-run", "--quiet"),
      *("--only-binary=:all:", f"--python-version={_RESOLVED}"),
      *platforms,
      *("--target", folder, f"{wheel}[testing]"),
  )


def _try(python, folder):
  """Returns what fails with a Python that has the wheel."""
  foreign = sorted(file.stem for file in _TESTS.glob("*.cc"))
  _copy(
      folder,
      *(file for op in foreign for file in _TESTS.glob(f"{op}*")),
      _ROOT / "tests/ops/rms_norm/rms_norm_test.py",
  )
  headers = _must(
      python, "-c", "import jax; print(jax.ffi.include_dir())"
  ).strip()
  gxx = ("g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-isystem", headers)
  libraries = [f"lib{op}.so" for op in foreign]
  for op, library in zip(foreign, libraries):
    _must(*gxx, f"{op}.cc", "-o", library, cwd=folder)
  doctor = ("-m", "jax_ffi_ops.doctor")
  tests = [f"{op}_test.py" for op in ("rms_norm", *foreign)]
  commands = (doctor, (*doctor, *libraries), ("-m", "pytest", "-q", *tests))
  return [
      " ".join(command)
      for command in commands
      if _run(python, *command, cwd=folder).returncode
  ]


def main() -> None:
  results = {}
  with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    wheel, cuda = _build(folder), _build(folder, "--config=cuda")
    tools = folder / "tools"
    lock = _ROOT / "third_party/pypi/wheels.lock"
    _venv(tools, sys.executable, "--require-hashes", "-r", lock)
    for file in (wheel, cuda):
      _check_file(file, tools / "bin")
    python = None
    pairs = sys.argv[1:] or _PAIRS
    for file, pair in ((cuda, pairs[0]), *((wheel, pair) for pair in pairs)):
      what = f"{pair} with CUDA" if file == cuda else pair
      version, _, jax = pair.partition(":")
      if (found := _find(version)) is None:
        results[what] = f"no Python {version} on this machine: not tested"
        continue
      venv = folder / re.sub(r"\W", "_", what)
      versions = (f"jax=={jax}", f"jaxlib=={jax}")
      python = _venv(venv, found, f"{file}[testing]", *versions, "pytest")
      failed = _try(python, folder / f"{venv.name}_tests")
      results[what] = f"FAILED: {', '.join(failed)}" if failed else "passed"
    if python:
      _check_types(python, tools / "bin", folder / "types")
      _resolve(python, wheel, folder / "target")
      results[_RESOLVED] = "resolved"
  for what, result in results.items():
    print(f"{what}: {result}")
  sys.exit(any(r.startswith("FAILED") for r in results.values()))


if __name__ == "__main__":
  main()
