# SPDX-License-Identifier: Apache-2.0
"""The shared objects of --config=cuda, on a machine without CUDA."""

import ctypes
import os

from absl.testing import absltest
from absl.testing import parameterized
import elf

from jax_ffi_ops.kit import metadata

_HANDLERS = {
    "OPTIONAL": ["cuda_test_twice_fwd"],
    "TWICE": ["cuda_test_twice_fwd"],
} | {
    name: [name.lower() + "_bwd", name.lower() + "_fwd"]
    for name in os.environ
    if name.startswith("XLA_FFI_OPS_")
}

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


@parameterized.parameters(*_HANDLERS.items())
class LibrariesTest(parameterized.TestCase):

  def test_exports(self, library, handlers):
    symbols = [h + platform for h in handlers for platform in ("_cpu", "_cuda")]
    self.assertCountEqual(symbols, elf.exported(os.environ[library]))

  def test_needs(self, library, handlers):
    del handlers
    self.assertContainsSubset(elf.needed(os.environ[library]), _MAY_NEED)

  def test_metadata(self, library, handlers):
    loaded = ctypes.CDLL(os.environ[library])
    for handler in handlers:
      cpu = metadata.read_metadata(loaded[handler + "_cpu"])
      cuda = metadata.read_metadata(loaded[handler + "_cuda"])
      self.assertTrue(metadata.is_accepted(cuda.api_version))
      self.assertEqual(cpu.api_version, cuda.api_version)
      self.assertFalse(cpu.command_buffer_compatible)
      self.assertTrue(cuda.command_buffer_compatible)
      self.assertFalse(cuda.stateful)


if __name__ == "__main__":
  absltest.main()
