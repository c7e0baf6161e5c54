# SPDX-License-Identifier: Apache-2.0
"""Ops on long arrays: any number of threads, and too little memory."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

import python_process

_PROGRAM = pathlib.Path(__file__).with_name("long_arrays.py")
_SECONDS = 200
# Freed memory is given back to the system: so each call meets the limit.
_NO_POOLS = {
    "NPROC": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_ARENA_MAX": "1",
}


class LongArraysTest(parameterized.TestCase):

  def test_threads(self):
    found = set()
    for threads in (1, 2, 8):
      process = python_process.start(_PROGRAM, "bits", NPROC=str(threads))
      found.update(python_process.outputs(self, [process], _SECONDS))
    self.assertLen(found, 1)

  @parameterized.parameters(
      "sort", "argsort", "partition", "argpartition", "top_k", "nonzero"
  )
  def test_memory(self, op):
    process = python_process.start(_PROGRAM, "memory", op, **_NO_POOLS)
    (output,) = python_process.outputs(self, [process], _SECONDS)
    self.assertEqual(output.split(), ["error", "result"])


if __name__ == "__main__":
  absltest.main()
