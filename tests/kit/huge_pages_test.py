# SPDX-License-Identifier: Apache-2.0
"""Large results of handlers get huge pages, without any setting."""

import os
import pathlib
import re

os.environ["JAX_PLATFORMS"] = "cpu"

from absl.testing import absltest
import jax
import jax.numpy as jnp

from jax_ffi_ops import rms_norm

_SYSTEM = pathlib.Path("/sys/kernel/mm/transparent_hugepage")


def _wants_huge_pages(x):
  """Returns whether the middle of an array was advised to have huge pages."""
  address = jax.block_until_ready(x).unsafe_buffer_pointer() + x.nbytes // 2
  found = False
  for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
    if place := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
      found = int(place[1], 16) <= address < int(place[2], 16)
    elif found and line.startswith("VmFlags:"):
      return "hg" in line.split()
  raise ValueError(f"no memory at {address:x}")


class HugePagesTest(absltest.TestCase):

  def test_large_result(self):
    y = rms_norm(jnp.ones((12288, 1024)))  # 48 MiB
    self.assertEqual(_wants_huge_pages(y), _SYSTEM.exists())

  def test_smaller_result_is_as_xlas(self):
    x = jnp.ones((4096, 1024))  # 16 MiB
    self.assertEqual(_wants_huge_pages(rms_norm(x)), _wants_huge_pages(x))


if __name__ == "__main__":
  absltest.main()
