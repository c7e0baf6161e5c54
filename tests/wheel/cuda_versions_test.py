# SPDX-License-Identifier: Apache-2.0
"""The doctor says of driver, toolkit and plugin what docs/build.md says."""

import contextlib
import ctypes
import io
import itertools
import pathlib
import re
import struct
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from jax_ffi_ops.doctor import calling
from jax_ffi_ops.doctor import command
from jax_ffi_ops.doctor import isolated

_HERE = pathlib.Path(__file__).parent
_OBJECT = (_HERE / "libtally.so").read_bytes()
# The loader takes it for libcuda.so.1, by the name that is in it.
_DRIVER = ctypes.CDLL(str(_HERE / "libfake_cuda.so"))
_ROW = re.compile(
    r"\| CUDA (\d+)\.x\b[^|]*\| `jax\[cuda(\d+)\]` "
    r"\| (\d+) \(CUDA (\d+)\.(\d+)\) \|"
)
_ROWS = [
    tuple(map(int, row))
    for row in _ROW.findall(
        (_HERE.parent.parent / "docs/build.md").read_text("utf-8")
    )
]


def _with_text(text):
  """Returns the object with a text in it: the headers of sections are last."""
  content = bytearray(_OBJECT + b"\0%s\0" % text.encode())
  (sections,) = struct.unpack_from("<Q", content, 0x28)
  struct.pack_into("<Q", content, 0x28, len(content))
  return bytes(content + _OBJECT[sections:])


def _messages(_, function, *arguments, seconds):
  """Yields what the other process would, without what it tells of handlers."""
  del seconds
  if function == "devices":
    return [(["cpu"], "")]
  tried = [("", True)]
  with mock.patch.object(calling, "_handler", return_value=tried):
    return list(calling.objects(*arguments))


class CudaVersionsTest(parameterized.TestCase):

  def check(self, well, driver, linked, *plugins):
    """Has the doctor look at an object; returns what it prints.

    Args:
      well: whether all is.
      driver: what cuDriverGetVersion says; 0 if there is none.
      linked: a string of the object.
      *plugins: versions of CUDA that jax has a plugin for.
    """
    ctypes.c_int.in_dll(_DRIVER, "version").value = driver
    packages = pathlib.Path(self.create_tempdir())
    for plugin in plugins:
      info = packages / f"jax_cuda{plugin}_plugin-0.10.2.dist-info"
      info.mkdir()
      (info / "METADATA").write_text(
          f"Name: jax-cuda{plugin}-plugin\nVersion: 0.10.2\n"
      )
    content = _with_text(linked)
    file = self.create_tempfile(content=content, mode="wb").full_path
    printed = io.StringIO()
    with (
        mock.patch.object(sys, "path", [str(packages), *sys.path]),
        mock.patch.object(sys, "argv", ["doctor", file]),
        # Objects are loaded by another process, which takes seconds.
        mock.patch.object(isolated, "messages", _messages),
        contextlib.redirect_stdout(printed),
    ):
      status = command.main()
    self.assertEqual(status, not well, printed.getvalue())
    return printed.getvalue()

  def test_rows(self):
    pairs = [(toolkit, plugin) for toolkit, plugin, *_ in _ROWS]
    self.assertCountEqual(pairs, itertools.product((12, 13), repeat=2))

  @parameterized.parameters(_ROWS)
  def test_row(self, toolkit, plugin, driver, major, minor):
    version = 1000 * major + 10 * minor
    for linked in ("xla_ffi_ops: CUDA {}.9", "libcudart.so.{}"):
      linked = linked.format(toolkit)
      printed = self.check(True, version, linked, plugin)
      self.assertIn(f"driver: for CUDA {major}.{minor}; plugin", printed)
      self.assertIn(f"jax-cuda{plugin}-plugin 0.10.2", printed)
      self.assertRegex(printed, rf"linked with CUDA {toolkit}\S*\n")
    old = self.check(False, version - 10, linked, plugin)
    self.assertIn(f"needs driver {driver} (CUDA {major}.{minor}) or newer", old)
    self.assertEqual(f"{toolkit}: it needs" in old, toolkit == major, old)
    self.assertEqual("0.10.2: it needs" in old, plugin == major, old)

  def test_without_a_driver(self):
    printed = self.check(True, 0, "xla_ffi_ops: CUDA 13.0", 13)
    self.assertIn("CUDA driver: none; plugin of jax: jax-cuda13", printed)

  def test_without_a_plugin(self):
    """The object does not reach the driver."""
    printed = self.check(True, 12040, "xla_ffi_ops: CUDA 13.0")
    self.assertIn("for CUDA 12.4; plugin of jax: none", printed)
    self.assertIn("linked with CUDA 13.0: it needs driver 580", printed)

  def test_without_anything(self):
    self.assertNotIn("CUDA", self.check(True, 0, ""))


if __name__ == "__main__":
  absltest.main()
