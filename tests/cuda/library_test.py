# SPDX-License-Identifier: Apache-2.0
"""A shared object of --config=cuda, on a machine without CUDA."""

import ctypes
import os
import pathlib

from absl.testing import absltest

from jax_ffi_ops.doctor import cuda_versions
from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.load import elf_sections

_LIBRARY = os.environ["LIBRARY"]
_CONTENT = pathlib.Path(_LIBRARY).read_bytes()
_HANDLERS = os.environ["HANDLERS"].split()

# All that a Linux with GCC's runtime has; not libcuda, not libcudart.
_MAY_NEED = {
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
}


class LibraryTest(absltest.TestCase):

  def test_exports(self):
    expected = [h + p for h in _HANDLERS for p in ("_cpu", "_cuda")]
    sections = elf_sections.sections(_CONTENT)
    exported = [name for name, _ in elf_sections.exported(sections)]
    self.assertCountEqual(expected, exported)

  def test_needs(self):
    found = elf_sections.libraries(elf_sections.sections(_CONTENT))
    self.assertContainsSubset(set(found), _MAY_NEED)

  def test_tells_the_toolkit(self):
    version, major = cuda_versions.toolkit(_CONTENT)
    self.assertRegex(version, rf"^{major}\.\d$")
    self.assertIn(major, (12, 13))

  def test_metadata(self):
    loaded = ctypes.CDLL(_LIBRARY)
    for handler in _HANDLERS:
      cpu = abi.read_metadata(loaded[handler + "_cpu"])
      cuda = abi.read_metadata(loaded[handler + "_cuda"])
      self.assertTrue(abi.is_accepted(cuda.api_version))
      self.assertEqual(cpu.api_version, cuda.api_version)
      self.assertFalse(cpu.command_buffer_compatible)
      self.assertTrue(cuda.command_buffer_compatible)
      self.assertFalse(cuda.stateful)


if __name__ == "__main__":
  absltest.main()
