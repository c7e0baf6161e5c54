# SPDX-License-Identifier: Apache-2.0
"""A shared object of --config=cuda, on a machine without CUDA."""

import ctypes
import os
import pathlib

from absl.testing import absltest
import elf

from jax_ffi_ops import cuda_versions
from jax_ffi_ops.kit import metadata

_LIBRARY = os.environ["LIBRARY"]
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
    symbols = [h + p for h in _HANDLERS for p in ("_cpu", "_cuda")]
    self.assertCountEqual(symbols, elf.exported(_LIBRARY))

  def test_needs(self):
    self.assertContainsSubset(elf.needed(_LIBRARY), _MAY_NEED)

  def test_tells_the_toolkit(self):
    version, major = cuda_versions.toolkit(pathlib.Path(_LIBRARY).read_bytes())
    self.assertRegex(version, rf"^{major}\.\d$")
    self.assertIn(major, (12, 13))

  def test_metadata(self):
    loaded = ctypes.CDLL(_LIBRARY)
    for handler in _HANDLERS:
      cpu = metadata.read_metadata(loaded[handler + "_cpu"])
      cuda = metadata.read_metadata(loaded[handler + "_cuda"])
      self.assertTrue(metadata.is_accepted(cuda.api_version))
      self.assertEqual(cpu.api_version, cuda.api_version)
      self.assertFalse(cpu.command_buffer_compatible)
      self.assertTrue(cuda.command_buffer_compatible)
      self.assertFalse(cuda.stateful)


if __name__ == "__main__":
  absltest.main()
