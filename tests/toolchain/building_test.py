# SPDX-License-Identifier: Apache-2.0
"""From text to an object that can be loaded, and what prevents it."""

import ctypes
import errno
import os
import pathlib
import signal
import tempfile
import threading
import time
from unittest import mock
import warnings

from absl.testing import absltest
import testing

from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit import toolchain
from jax_ffi_ops.kit.load import elf_sections
from jax_ffi_ops.kit.toolchain import building
from jax_ffi_ops.kit.toolchain import cache
from jax_ffi_ops.kit.toolchain import compilers
from jax_ffi_ops.kit.toolchain import folders
import python_process

_TEXT = testing.TEXT
_MATHS = """
#include <cmath>
extern "C" __attribute__((visibility("default"))) double f(double x) {
  return std::lgamma(x) + K;
}
"""
_ONCE = "made() if len(open(log).readlines()) > 1 else "


class RealCompilerTest(testing.ToolchainTest):

  def test_compiles(self):
    path = toolchain.shared_object(_TEXT)
    self.assertEqual(ctypes.CDLL(path).answer(), 42)
    self.assertStartsWith(path, str(self.folder))

  def test_second_process_does_not_compile(self):
    path = toolchain.shared_object(_TEXT)
    before = os.stat(path).st_mtime_ns
    with mock.patch.object(compilers.Compiler, "commands") as commands:
      self.assertEqual(toolchain.shared_object(_TEXT), path)
    commands.assert_not_called()
    self.assertEqual(os.stat(path).st_mtime_ns, before)

  def test_options_includes_and_libraries(self):
    (self.home / "own.h").write_text("#define K (ONE + 1)\n")
    path = toolchain.shared_object(
        f'#include "own.h"\n{_MATHS}',
        name="f_0123",
        options=["-DONE=1."],
        includes=[self.home],
    )
    self.assertEqual(os.path.basename(path), "f_0123.so")
    f = ctypes.CDLL(path).f
    f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double]
    self.assertAlmostEqual(f(2), 2)
    with elf_sections.mapped(path) as data:
      found = elf_sections.sections(data)
    names = list(elf_sections.libraries(found))
    self.assertFalse([name for name in names if "stdc++" in name], names)

  def test_symbols_are_hidden(self):
    path = toolchain.shared_object(_TEXT + "int hidden() { return answer(); }")
    self.assertFalse(hasattr(ctypes.CDLL(path), "_Z6hiddenv"))

  def test_refused_text(self):
    with self.assertRaises(toolchain.Failed) as caught:
      toolchain.shared_object("".join(f"int x{i} = y;\n" for i in range(99)))
    message = str(caught.exception)
    self.assertIn("refused kernel: kernel.cc:1:10: error:", message)
    self.assertLess(message.count("\n"), 5)
    self.assertEmpty(os.listdir(self.folder))

  def test_undefined_symbol(self):
    text = "int nowhere();\n" + _TEXT.replace("42", "nowhere()")
    with self.assertRaisesRegex(toolchain.Failed, "(?s)refused.*nowhere"):
      toolchain.shared_object(text)

  def test_levels(self):
    """What the compiler is told of the CPU is what it knows."""
    paths = set()
    for level, macro in ((4, "__AVX512VL__"), (3, "__AVX2__"), (1, "__SSE2__")):
      text = f"#ifndef {macro}\n#error\n#endif\n{_TEXT}"
      if level == 1:
        text += "#ifdef __AVX__\n#error\n#endif\n"
      with mock.patch.object(cpu, "cpu_level", lambda level=level: level):
        paths.add(toolchain.shared_object(text))
        paths.add(toolchain.shared_object(_TEXT))
    self.assertLen(paths, 6)

  def test_many_processes_at_once(self):
    worker = (
        "import ctypes, os, sys\n"
        "from jax_ffi_ops.kit import toolchain\n"
        "from jax_ffi_ops.kit.toolchain import folders\n"
        "owners = folders.owners() | {os.stat(x).st_uid for x in ('/', '/tmp')}\n"
        "folders.owners = lambda: owners\n"
        f"path = toolchain.shared_object({_TEXT!r})\n"
        "assert ctypes.CDLL(path).answer() == 42\n"
        "print(path)\n"
    )
    processes = [python_process.start("-c", worker) for _ in range(3)]
    paths = python_process.outputs(self, processes, seconds=200)
    self.assertLen(set(paths), 1)
    self.assertLen(os.listdir(self.folder), 1)


class HeaderTest(testing.ToolchainTest):
  """Headers that are compiled before the texts that need them."""

  def build(self, number, header="// 1", **kwargs):
    return toolchain.shared_object(f"text {number}", header=header, **kwargs)

  def headers(self):
    """Returns how many of the compilations were of headers."""
    return sum("c++-header" in line for line in self.compilations())

  def test_is_compiled_once(self):
    self.script("made()")
    self.build(1)
    self.build(2, key=b"text's own")
    *_, header, first, second = self.compilations()
    self.assertIn("c++-header header.h", header)
    [path] = self.folder.glob("*/header.h")
    self.assertTrue(path.with_name("header.h.gch").exists())
    for line in (first, second):
      self.assertIn(f"-include {path}", line)
    self.build(2, key=b"text's own")
    self.assertLen(self.compilations(), 3)
    for other in (dict(header="// 2"), dict(options=["-DX"])):
      before = self.headers()
      self.build(3, **other)
      self.assertEqual(self.headers(), before + 1, other)

  def test_object_is_the_same_without_it(self):
    self.script("made()")
    path = self.build(1)
    self.assertEqual(toolchain.shared_object("text 1"), path)
    self.assertLen(self.compilations(), 2)

  def test_cannot_be_made(self):
    """Then texts are compiled without it, and it is not tried again."""
    self.script("sys.exit('no') if 'c++-header' in sys.argv else made()")
    self.build(1)
    self.build(2)
    self.assertEqual(self.headers(), 1)
    self.assertNotIn("-include", "".join(self.compilations()))

  def test_cannot_be_used(self):
    for message in ("sys.argv[sys.argv.index('-include') + 1]", "'x.gch: PCH'"):
      with self.subTest(message):
        self.script(
            f"sys.exit({message}) if '-include' in sys.argv else made()"
        )
        self.build(1, key=message.encode())
        *_, first, second = self.compilations()
        self.assertIn("-include", first)
        self.assertNotIn("-include", second)

  def test_crash(self):
    self.script(
        "os.kill(os.getpid(), signal.SIGSEGV) if '-include' in sys.argv"
        " else made()"
    )
    self.build(1)
    self.assertLen(self.compilations(), 3)
    self.assertNotIn("-O1", self.compilations()[-1])

  def test_mistake(self):
    """A text that is wrong is not compiled twice."""
    self.script(
        "made() if 'c++-header' in sys.argv else sys.exit('error: no such x')"
    )
    with self.assertRaisesRegex(toolchain.Failed, "refused kernel: error: no"):
      self.build(1)
    self.assertLen(self.compilations(), 2)


class BuildingTest(testing.ToolchainTest):

  def test_what_a_key_has(self):
    self.script("made()")
    build = toolchain.shared_object
    own = build("a")
    self.assertEqual(build("a // b"), own)
    self.assertLen(self.compilations(), 1)
    for other in (
        lambda: build("b"),
        lambda: build("a", name="other"),
        lambda: build("a", options=["-DX"]),
        lambda: build("a", includes=["/x"]),
        lambda: build("a", key=b"runtime 2"),
    ):
      self.assertNotEqual(other(), own)
    self.script("made()  # another version")
    fake = pathlib.Path(os.environ[compilers.VARIABLE])
    fake.write_text(fake.read_text().replace("fake++ 1.0", "fake++ 1.1"))
    self.assertNotEqual(build("a"), own)
    self.assertLen(self.compilations(), 7)

  def test_off(self):
    self.script("made()")
    toolchain.shared_object(_TEXT)
    for value in ("0", "False", "off", "NO"):
      os.environ[building.SWITCH] = value
      with self.assertRaisesRegex(
          toolchain.Unavailable, f"JAX_FFI_OPS_COMPILE is {value}"
      ):
        toolchain.shared_object(_TEXT)
    os.environ[building.SWITCH] = "yes"
    toolchain.shared_object(_TEXT)
    os.environ[building.SWITCH] = "maybe"
    with self.assertRaisesRegex(ValueError, "COMPILE is 'maybe', not one of"):
      toolchain.shared_object(_TEXT)

  def test_wrong_arguments(self):
    self.script("made()")
    for name in ("", "a/b", "../a", "a" * 201):
      with self.assertRaisesRegex(ValueError, "name must be"):
        toolchain.shared_object(_TEXT, name=name)
    for variable in (building.SECONDS, building.MEGABYTES, cache.VARIABLE):
      with mock.patch.dict(os.environ, {variable: "-1"}):
        with self.assertRaisesRegex(ValueError, f"{variable} is '-1'"):
          toolchain.shared_object(_TEXT)
    self.assertEmpty(self.compilations())

  def test_crash_once(self):
    """The second try has fewer optimizations."""
    for crash in (
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "sys.exit('x.cc: internal compiler error: Segmentation fault')",
        "sys.exit('g++: fatal error: Killed signal terminated program cc1plus')",
        "sys.exit(139)",
    ):
      with self.subTest(crash):
        (self.home / "log").unlink(missing_ok=True)
        self.script(_ONCE + crash)
        toolchain.shared_object(_TEXT, key=crash.encode())
        first, second = self.compilations()
        self.assertNotIn("-O1", first)
        self.assertIn("-O1", second)

  def test_crash_twice(self):
    self.script("os.kill(os.getpid(), signal.SIGSEGV)")
    with self.assertRaisesRegex(
        toolchain.Failed, "crashed on kernel.*status -11"
    ):
      toolchain.shared_object(_TEXT)
    self.assertLen(self.compilations(), 2)

  def test_a_refusal_is_not_tried_again(self):
    self.script("sys.exit('kernel.cc:1: error: no')")
    with self.assertRaisesRegex(
        toolchain.Failed, "refused kernel: .*error: no"
    ):
      toolchain.shared_object(_TEXT)
    self.assertLen(self.compilations(), 1)

  def test_long_message(self):
    self.script("sys.exit(100 * ('error ' + 1000 * 'x' + '\\n'))")
    with self.assertRaises(toolchain.Failed) as caught:
      toolchain.shared_object(_TEXT)
    self.assertLess(len(str(caught.exception)), 1200)

  def test_time(self):
    self.script("time.sleep(600)")
    os.environ[building.SECONDS] = "2"
    with self.assertRaisesRegex(toolchain.Failed, "more than 2 s .*_SECONDS"):
      toolchain.shared_object(_TEXT)
    self.assertLen(self.compilations(), 1)
    self.assertEmpty(os.listdir(self.folder))

  def test_memory(self):
    self.script("time.sleep(0.2)\ntry:\n  bytearray(1 << 30)\n"
                "except MemoryError:\n  sys.exit('virtual memory exhausted')\n"
                "made()")  # fmt: skip
    os.environ[building.MEGABYTES] = "500"
    with self.assertRaisesRegex(toolchain.Failed, "more than 500 MB .*_MB"):
      toolchain.shared_object(_TEXT)

  def test_keyboard_interrupt(self):
    self.script("time.sleep(600)")

    def interrupt():
      while not self.compilations():
        time.sleep(0.01)
      os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with self.assertRaises(KeyboardInterrupt):
      toolchain.shared_object(_TEXT)
    thread.join()
    self.assertEmpty(os.listdir(self.folder))
    self.script("made()")
    toolchain.shared_object(_TEXT)  # Nothing is locked.

  def in_threads(self, texts):
    paths = []
    threads = [
        threading.Thread(
            target=lambda text=text: paths.append(toolchain.shared_object(text))
        )
        for text in texts
    ]
    for thread in threads:
      thread.start()
    return threads, paths

  def test_threads(self):
    """One of them compiles a text; other texts need not wait for it."""
    self.script("time.sleep(1)\nmade()")
    threads, paths = self.in_threads(["a"] * 4 + ["b"])
    for thread in threads:
      thread.join()
    self.assertLen(set(paths), 2)
    self.assertLen(self.compilations(), 2)

  def test_fork_while_a_thread_compiles(self):
    self.script("time.sleep(2)\nmade()")
    [thread], _ = self.in_threads(["a"])
    while not self.compilations():
      time.sleep(0.01)
    child = os.fork()
    if not child:
      signal.alarm(60)
      try:
        toolchain.shared_object("a")
        os._exit(0)
      finally:
        os._exit(1)
    self.assertEqual(os.waitpid(child, 0)[1], 0)
    thread.join()

  def assert_one_warning(self, regex, count=2):
    with warnings.catch_warnings(record=True) as caught:
      warnings.simplefilter("always")
      paths = [toolchain.shared_object(f"text {i}") for i in range(count)]
    [warning] = caught
    self.assertRegex(str(warning.message), regex)
    for path in paths:
      self.assertStartsWith(path, folders.private())
    return paths

  def test_folder_of_others(self):
    self.script("made()")
    self.folder.mkdir()
    self.folder.chmod(0o777)
    paths = self.assert_one_warning("can be written by others")
    self.assertEqual(toolchain.shared_object("text 0"), paths[0])
    self.assertEmpty(os.listdir(self.folder))

  def cannot_write(self, error):
    real = tempfile.mkdtemp

    def refuse(suffix=None, prefix=None, dir=None):
      if dir == str(self.folder):
        raise OSError(error, os.strerror(error), f"{dir}/{time.time()}")
      return real(suffix, prefix, dir)

    self.enter_context(mock.patch.object(tempfile, "mkdtemp", refuse))

  def test_read_only_folder(self):
    """What is there is used, and what is not is made elsewhere."""
    self.script("made()")
    there = toolchain.shared_object("there")
    self.cannot_write(errno.EROFS)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self.assertEqual(toolchain.shared_object("there"), there)
    self.assert_one_warning("Read-only file system")

  def test_full_disk(self):
    self.script("made()")
    self.cannot_write(errno.ENOSPC)
    self.assert_one_warning("No space left on device")

  def test_disk_that_is_full_for_the_compiler(self):
    self.script(
        f"if os.getcwd().startswith({str(self.folder)!r}):\n"
        "  sys.exit('as: f.o: No space left on device')\nmade()"
    )
    self.assert_one_warning("no space left on device")

  def test_nowhere_to_write(self):
    self.script("made()")
    with mock.patch.object(cache.Cache, "making", side_effect=OSError("full")):
      with self.assertRaisesRegex(toolchain.Unavailable, "no folder .*: full"):
        toolchain.shared_object(_TEXT)

  def test_no_shell(self):
    mark = self.home / "mark"
    self.script("made()")
    toolchain.shared_object(
        _TEXT, options=[f"$(touch {mark})", f";touch {mark}"]
    )
    self.assertFalse(mark.exists())


if __name__ == "__main__":
  absltest.main()
