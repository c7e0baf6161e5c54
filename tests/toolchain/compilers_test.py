# SPDX-License-Identifier: Apache-2.0
"""Which compiler is found, how it is asked, and with which flags it runs."""

import importlib.util
import os
import pathlib
from unittest import mock

from absl.testing import absltest
import testing

from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit.toolchain import compilers
from jax_ffi_ops.kit.toolchain import failures


class CompilersTest(testing.ToolchainTest):

  def on_path(self, *folders):
    os.environ.pop(compilers.VARIABLE, None)
    os.environ["PATH"] = os.pathsep.join(map(str, folders))

  def assert_none(self, regex):
    with self.assertRaisesRegex(failures.Unavailable, regex):
      compilers.compiler()

  def test_the_one_that_is_named(self):
    path = self.script("")
    os.environ[compilers.VARIABLE] = f"{path} '--a b'"
    found = compilers.compiler()
    self.assertEqual(found.command, (path, "--a b"))
    self.assertEqual(found.version, "fake++ 1.0")
    self.assertEqual(found.name, f"fake++ 1.0 ({path})")

  def test_one_that_is_named_is_not_replaced(self):
    (self.home / "bin").mkdir()
    self.script("", "bin/g++")
    os.environ["PATH"] = str(self.home / "bin")
    for name in ("no_such_compiler", "/no/such", "./g++", " "):
      os.environ[compilers.VARIABLE] = name
      self.assert_none("CXX is .*not found")

  def test_order(self):
    for name in ("g++", "clang++"):
      self.script("", name)
    self.on_path(self.home)
    self.assertEqual(compilers.compiler().command, (str(self.home / "g++"),))
    (self.home / "g++").unlink()
    found = compilers.compiler()
    self.assertEqual(found.command, (str(self.home / "clang++"),))

  def test_options_that_only_some_know(self):
    gcc = compilers.Compiler(("/g++",), "g++ (Debian 12.2.0-14) 12.2.0")
    clang = compilers.Compiler(("/clang++",), "Debian clang version 14.0.6")
    for one, is_gcc in ((gcc, True), (clang, False)):
      for flag in ("-fno-gnu-unique", "-mno-mmx"):
        self.assertEqual(flag in one.flags(), is_gcc)
      with mock.patch.object(cpu, "cpu_level", lambda: 0):  # As on aarch64.
        self.assertNotIn(" -m", " ".join(one.flags()))
      command = " ".join(one.precompiling("x.h", "x.h.gch", []))
      self.assertEqual("-fmodules-embed-file=x.h" in command, not is_gcc)

  def test_one_that_fails_is_passed_over(self):
    self.script("", "clang++")
    (self.home / "g++").write_text("#!/bin/sh\nexit 3\n")
    (self.home / "g++").chmod(0o700)
    self.on_path(self.home)
    found = compilers.compiler()
    self.assertEqual(found.command, (str(self.home / "clang++"),))

  def test_none(self):
    self.on_path("/no/such/folder")
    with mock.patch.object(importlib.util, "find_spec", lambda _: None):
      self.assert_none(
          r"tried g\+\+ \(not found\), clang\+\+ \(not found\), zi"
      )

  def test_relative_folders_of_path(self):
    self.script("", "g++")
    before = os.getcwd()
    os.chdir(self.home)
    self.addCleanup(os.chdir, before)
    with mock.patch.object(importlib.util, "find_spec", lambda _: None):
      for path in (".", "", "../" + self.home.name):
        self.on_path(path)
        self.assert_none("not found")

  def zig(self):
    folder = self.home / "ziglang"
    folder.mkdir()
    self.script("", "ziglang/zig")
    spec = mock.Mock(submodule_search_locations=[str(folder)])
    self.on_path("/no/such/folder")
    self.enter_context(
        mock.patch.object(importlib.util, "find_spec", lambda _: spec)
    )
    return str(folder / "zig")

  def test_zig(self):
    path = self.zig()
    found = compilers.compiler()
    self.assertEqual(found.command, (path, "c++"))
    compiling, linking = found.commands("f.cc", "f.so", ["-g"])
    self.assertEqual(compiling[:2], (path, "c++"))
    self.assertEqual(compiling[-5:], ("-g", "-c", "f.cc", "-o", "f.so.o"))
    self.assertEqual(linking[:3], (path, "ld.lld", "-shared"))
    self.assertTrue(any(part.endswith("/libm.so.6") for part in linking))

  def test_version_is_asked_once(self):
    log = self.home / "asked"
    path = pathlib.Path(self.script(""))
    path.write_text(f"#!/bin/sh\necho asked >> {log}; echo 1.0\n")
    for _ in range(3):
      compilers.compiler()
    self.assertLen(log.read_text().splitlines(), 1)
    path.write_text(f"#!/bin/sh\necho asked >> {log}; echo version 2.0\n")
    self.assertEqual(compilers.compiler().version, "version 2.0")
    self.assertLen(log.read_text().splitlines(), 2)

  def test_levels(self):
    self.script("")
    gcc = compilers.compiler()
    self.zig()
    zig = compilers.compiler()
    for level, own, zigs in (
        (4, "-march=x86-64-v4", "-mcpu=x86_64_v4"),
        (3, "-march=x86-64-v3", "-mcpu=x86_64_v3"),
        (1, "-march=x86-64", "-mcpu=x86_64"),
        (0, None, "-mcpu=baseline"),
    ):
      with mock.patch.object(cpu, "cpu_level", lambda level=level: level):
        for found, flag in ((gcc, own), (zig, zigs)):
          flags = [
              f for f in found.flags() if f.startswith(("-march", "-mcpu"))
          ]
          self.assertEqual(flags, [flag] if flag else [])

  def test_key_has_the_environment_of_compilers(self):
    self.script("")
    before = compilers.compiler().key()
    for name in ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"):
      with mock.patch.dict(os.environ, {name: "/somewhere"}):
        self.assertNotEqual(compilers.compiler().key(), before)


if __name__ == "__main__":
  absltest.main()
