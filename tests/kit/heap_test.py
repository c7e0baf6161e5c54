# SPDX-License-Identifier: Apache-2.0
"""Large arrays cost page faults in each call, or memory that is kept."""

import ctypes
import json
import os
from unittest import mock

from absl.testing import absltest
import large_arrays

import jax_ffi_ops
import python_process


def _measured(*arguments):
  """Returns what large_arrays.py prints in a process with the default heap."""
  process = python_process.run(
      large_arrays.__file__,
      *arguments,
      JAX_PLATFORMS="cpu",
      GLIBC_TUNABLES="",
  )
  process.check_returncode()
  return json.loads(process.stdout)


class HeapTest(absltest.TestCase):

  def test_pages_are_kept(self):
    if any(name.startswith("MALLOC_") for name in os.environ):
      self.skipTest("The heap is not the default one.")
    if os.environ.get("SANITIZER") == "thread":  # It lets glibc answer mallopt.
      self.skipTest("ThreadSanitizer has a heap of its own.")
    kept, faults, freed, rest = _measured("keep")
    if not kept:
      self.skipTest("This C library has no such heap.")
    _, (_, *fresh), given_back, least = _measured()
    if max(fresh) < large_arrays.PAGES / 2:
      self.skipTest("Fresh pages are huge on this machine.")
    self.assertGreater(min(fresh), large_arrays.PAGES / 2)
    self.assertLess(max(faults), large_arrays.PAGES / 50)
    self.assertGreater(freed, given_back + (64 << 20))
    # malloc_trim leaves as little as there is without all this.
    self.assertLess(rest, least + (32 << 20))

  def test_other_c_libraries(self):
    with mock.patch.object(ctypes, "CDLL", return_value=object()):
      self.assertIs(jax_ffi_ops.keep_freed_memory(), False)

  def test_sanitizers(self):
    """They have mallopt, which does nothing."""
    library = mock.Mock(mallopt=mock.Mock(return_value=0))
    with mock.patch.object(ctypes, "CDLL", return_value=library):
      self.assertIs(jax_ffi_ops.keep_freed_memory(), False)


if __name__ == "__main__":
  absltest.main()
