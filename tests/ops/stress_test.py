# SPDX-License-Identifier: Apache-2.0
"""All ops under load: the same bits from any thread, pool, core and process."""

from concurrent import futures
import multiprocessing
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import stress

import jax_ffi_ops
import python_process

_PROGRAM = pathlib.Path(__file__).with_name("stress.py")
_SECONDS = 20
_MORE_SECONDS = 120  # to compile, and to end


class StressTest(parameterized.TestCase):

  @parameterized.parameters((1, 64), (2, 64), (8, 64), (8, 1))
  def test_threads(self, pool, cores):
    process = python_process.run(
        _PROGRAM,
        _SECONDS,
        cores,
        seconds=_SECONDS + _MORE_SECONDS,
        NPROC=str(pool),
    )
    self.assertEqual(process.returncode, 0, process.stderr)

  @parameterized.parameters("forkserver", "spawn")
  def test_processes(self, method):
    ops = jax_ffi_ops._ops()
    expected = [stress.digest(op) for op in ops]
    context = multiprocessing.get_context(method)
    with futures.ProcessPoolExecutor(2, context) as pool:
      found = list(pool.map(stress.digest, ops, timeout=_MORE_SECONDS))
    self.assertEqual(found, expected)


if __name__ == "__main__":
  absltest.main()
