# SPDX-License-Identifier: Apache-2.0
"""A mistake in a BUILD file is an error that names it."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_WORKSPACE = """\
local_repository(name = "ffi", path = "{}")
load("@ffi//xla_ffi_ops:deps.bzl", "xla_ffi_ops_deps")
xla_ffi_ops_deps()
"""
_BUILD = """\
load("@ffi//xla_ffi_ops:defs.bzl", "xla_ffi_extension", "xla_ffi_op")
load("@ffi//xla_ffi_ops:defs.bzl", "xla_ffi_op_library", "xla_ffi_python_module")
{}
"""
_EXTENSION = 'xla_ffi_extension(name = "NAME", deps = [], {})'
# What is written, and what the error says. Each NAME is another one, so that no
# error stands for two.
_MISTAKES = {
    _EXTENSION.format(""): (
        "NAME: handlers, stateful_handlers or symbols must name one"
    ),
    _EXTENSION.format("handlers = []"): (
        "NAME: handlers, stateful_handlers or symbols must name one"
    ),
    _EXTENSION.format('handlers = select({"//conditions:default": ["a"]})'): (
        "NAME: handlers must be known when BUILD files are read: no select()"
    ),
    _EXTENSION.format('handlers = ["my/op"]'): (
        'NAME: handlers has "my/op", which is no symbol of C; name the symbol by'
    ),
    _EXTENSION.format('handlers = ["my-op"]'): (
        'NAME: handlers has "my-op", which is no symbol of C; name the symbol by'
    ),
    _EXTENSION.format('symbols = {"1st": {"cpu": "A"}}'): (
        'NAME: symbols has "1st", which is no symbol of C'
    ),
    _EXTENSION.format('symbols = {"a-b": {"cpu": "A"}, "a.b": {"cpu": "B"}}'): (
        'NAME: symbols has "a-b" and "a.b", which are one symbol of C'
    ),
    _EXTENSION.format('stateful_handlers = ["1st"]'): (
        'NAME: stateful_handlers has "1st", which is no symbol of C'
    ),
    _EXTENSION.format('symbols = {"a": "A"}'): (
        'NAME: symbols of a must map cpu, cuda or both, got "A"'
    ),
    _EXTENSION.format('symbols = {"a": {"gpu": "A"}}'): (
        'NAME: symbols of a must map cpu, cuda or both, got {"gpu": "A"}'
    ),
    _EXTENSION.format('symbols = {"a": {"cpu": {"prepare": "A"}}}'): (
        "NAME: symbols of a for cpu must be a symbol, or map execute and others of"
    ),
    _EXTENSION.format(
        'symbols = {"a": {"cpu": {"execute": "A", "type_id": "I"},'
        ' "cuda": {"execute": "B", "type_id": "J"}}}'
    ): "NAME: a_state_type_id is I and J: platforms share it",
    'xla_ffi_python_module(name = "NAME", srcs = [], binding = "swig")': (
        'NAME: binding must be one of c_api, nanobind, pybind11, got "swig"'
    ),
    'xla_ffi_python_module(name = "NAME", srcs = [], binding = "c_api",'
    ' symbols = {"a": "A"})': (
        'NAME: symbols of a must map cpu, cuda or both, got "A"'
    ),
    'xla_ffi_op_library(name = "NAME")': (
        "NAME: the name must be that of a file <op>_ffi.cc"
    ),
    'xla_ffi_op(name = "NAME", handlers = [])': (
        "NAME_ext: handlers, stateful_handlers or symbols must name one"
    ),
}


def _errors(folder: pathlib.Path) -> str:
  """Returns what Bazel says of a package for each of the mistakes."""
  workspace = folder / "workspace"
  workspace.mkdir()
  (workspace / "WORKSPACE").write_text(_WORKSPACE.format(_ROOT), "utf-8")
  for number, mistake in enumerate(_MISTAKES):
    package = workspace / f"p{number}"
    package.mkdir()
    text = _BUILD.format(mistake.replace("NAME", package.name))
    (package / "BUILD.bazel").write_text(text, "utf-8")
  bazel = [_ROOT / "bazelw", f"--output_base={folder / 'out'}"]
  query = ["query", "--noenable_bzlmod", "--keep_going", "//..."]
  try:
    done = subprocess.run(
        [*bazel, *query],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
  finally:
    subprocess.run([*bazel, "shutdown"], cwd=workspace, check=True)
  return done.stderr


def main():
  """Prints the errors that are not as they should be."""
  folder = pathlib.Path(tempfile.mkdtemp())
  try:
    errors = _errors(folder)
  finally:
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)
  lost = {
      mistake: text
      for number, (mistake, text) in enumerate(_MISTAKES.items())
      if text.replace("NAME", f"p{number}") not in errors
  }
  for mistake, text in lost.items():
    print(f"{mistake}\ndoes not say: {text}")
  if lost:
    sys.exit(errors)


if __name__ == "__main__":
  main()
