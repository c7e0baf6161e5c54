# SPDX-License-Identifier: Apache-2.0
"""A cache of each test's own, real and fake compilers."""

import os
import pathlib
import sys
from unittest import mock

from absl.testing import parameterized

from jax_ffi_ops.kit.toolchain import compilers
from jax_ffi_ops.kit.toolchain import folders

TEXT = """
extern "C" __attribute__((visibility("default"))) int answer() { return 42; }
"""


def real_compiler() -> str:
  """Returns the compiler of the Bazel build, which may be among the runfiles."""
  path = os.environ.get("COMPILER", "/usr/bin/g++")
  if not os.path.isabs(path):
    path = os.path.join("..", path.removeprefix("external/"))
  return os.path.abspath(path)


class ToolchainTest(parameterized.TestCase):
  """Each test has a cache, a HOME and an environment of its own."""

  def setUp(self):
    super().setUp()
    # In a sandbox, root's folders may be another user's.
    owners = {0, os.geteuid(), os.stat("/").st_uid, os.stat("/tmp").st_uid}
    self.enter_context(mock.patch.object(folders, "owners", lambda: owners))
    self.enter_context(mock.patch.dict(os.environ))
    for name in list(os.environ):
      if name.startswith("JAX_FFI_OPS_"):
        del os.environ[name]
    # Not TEST_TMPDIR, which others may rename.
    self.home = pathlib.Path(self.create_tempdir().full_path).resolve()
    self.folder = self.home / "cache"
    os.environ["HOME"] = str(self.home)
    os.environ[folders.VARIABLE] = str(self.folder)
    os.environ[compilers.VARIABLE] = real_compiler()
    folders.private.cache_clear()
    folders._warned.clear()

  def script(self, body: str, name: str = "fake++") -> str:
    """Makes a compiler of Python text; `log` has a line for each compilation.

    The text can use `made()`, which writes the object that is asked for.
    """
    path = self.home / name
    path.write_text(f"#!{sys.executable}\n{_PRELUDE}\n{body}\n")
    path.chmod(0o700)
    os.environ[compilers.VARIABLE] = str(path)
    return str(path)

  def compilations(self) -> list[str]:
    """Returns the command lines that a compiler of `script` was started with."""
    log = self.home / "log"
    return log.read_text().splitlines() if log.exists() else []


_PRELUDE = """
import os, signal, subprocess, sys, time

def made():
  with open(sys.argv[sys.argv.index("-o") + 1], "w") as file:
    file.write("object")

if "--version" in sys.argv:
  print("fake++ 1.0")
  sys.exit()
log = os.path.join(os.path.dirname(os.path.abspath(__file__)), "log")
with open(log, "a") as file:
  file.write(" ".join(sys.argv[1:]) + "\\n")
"""
