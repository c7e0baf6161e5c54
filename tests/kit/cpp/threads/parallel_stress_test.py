# SPDX-License-Identifier: Apache-2.0
"""parallel.h on XLA's own threads, under load: right values, no deadlock."""

from concurrent import futures
import faulthandler
import os

from absl.testing import absltest
import handlers
import jax
import jax.numpy as jnp
import numpy as np

# XLA's pool has as many threads, on a machine with fewer cores too.
os.environ["NPROC"] = "4"
jax.config.update("jax_enable_x64", True)
handlers.register("threads/parallel_ext", "kit_test_increment")
handlers.register("handler/handler_ext", "kit_test_fail")

_SECONDS = 120  # The test takes a few: more is a deadlock.


def setUpModule():
  faulthandler.dump_traceback_later(_SECONDS, exit=True)


def tearDownModule():
  faulthandler.cancel_dump_traceback_later()


def _increment(x, grain=1, microseconds=0):
  """Returns x + 1, the threads of the elements, and that of the handler."""
  like_x = jax.ShapeDtypeStruct(x.shape, np.int64)
  return jax.ffi.ffi_call(
      "kit_test_increment",
      (like_x, like_x, jax.ShapeDtypeStruct((1,), np.int64)),
  )(x, grain=np.int64(grain), microseconds=np.int64(microseconds))


# XLA runs a program on one thread if its buffers are small, or if few ops are
# ready at a time.
_N = 1024
_WIDTH = 32
_DEPTH = 3


@jax.jit
def _chains(x):
  """Many handlers at a time, each with 8 ranges for the threads of the pool."""
  values = [x + i for i in range(_WIDTH)]
  workers, callers = [], []
  for _ in range(_DEPTH):
    results = [_increment(value, _N // 8, 20) for value in values]
    values, some_workers, some_callers = zip(*results)
    workers.extend(some_workers)
    callers.extend(some_callers)
    total = sum(values)
    values = [value + total for value in values]
  return sum(values), jnp.concatenate(workers), jnp.concatenate(callers)


def _expected(x):
  values = [x + i for i in range(_WIDTH)]
  for _ in range(_DEPTH):
    values = [value + 1 for value in values]
    total = sum(values)
    values = [value + total for value in values]
  return sum(values)


class ParallelStressTest(absltest.TestCase):

  def test_very_many_ranges(self):
    x = np.arange(100_000)
    y, workers, _ = _increment(x)
    np.testing.assert_array_equal(y, x + 1)
    self.assertBetween(len(np.unique(workers)), 1, 5)

  def test_several_threads_work(self):
    x = np.arange(64)
    y, workers, _ = _increment(x, microseconds=1000)
    np.testing.assert_array_equal(y, x + 1)
    self.assertGreater(len(np.unique(workers)), 1)

  def test_handlers_that_run_in_the_pool(self):
    x = np.arange(_N)
    for _ in range(20):
      y, workers, callers = _chains(x)
      np.testing.assert_array_equal(y, _expected(x))
    self.assertGreater(len(np.unique(callers)), 1)
    self.assertGreater(len(np.unique(workers)), 1)

  def test_python_threads(self):
    def work(i):
      for x in np.arange(_N) + 100 * i + np.arange(10)[:, None]:
        np.testing.assert_array_equal(_chains(x)[0], _expected(x))
      return i

    with futures.ThreadPoolExecutor(8) as pool:
      self.assertEqual(list(pool.map(work, range(8))), list(range(8)))

  def test_errors_in_python_threads(self):
    result = jax.ShapeDtypeStruct((1,), np.float32)
    call = jax.jit(
        jax.ffi.ffi_call("kit_test_fail", result), static_argnames="how"
    )
    x = np.zeros(1, np.float32)

    def work(_):
      for _ in range(20):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "fail: 20$"):
          jax.block_until_ready(call(x, how="error_of_loop"))
      return True

    with futures.ThreadPoolExecutor(8) as pool:
      self.assertTrue(all(pool.map(work, range(8))))


if __name__ == "__main__":
  absltest.main()
