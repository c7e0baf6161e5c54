# SPDX-License-Identifier: Apache-2.0
"""Which thread does what; also in a process whose pool has one thread."""

import os

# XLA's pool has as many threads as there are processors when jax is loaded.
if "ONE_THREAD" in os.environ:
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

from absl.testing import absltest
from absl.testing import parameterized
from asynchronous import pool_size
from asynchronous import square_roots
import jax
import numpy as np

_X = np.arange(100_000, dtype=np.float32)
_BLOCK = 1000


def _in_the_pool(threads):
  """Returns how many handlers ran where tasks did, and how many there were."""
  handlers, tasks = threads[..., 0].ravel(), threads[..., 1:]
  return int(np.isin(handlers, tasks).sum()), handlers.size


class AsynchronousTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def test_pool_size(self):
    if "ONE_THREAD" in os.environ:
      self.assertEqual(pool_size(), 1)
    else:
      self.assertGreaterEqual(pool_size(), 1)

  @parameterized.parameters(
      (0, 1), (1, 1), (7, 7), (7, 3), (9, 3), (5, 2**63 - 1)
  )
  def test_values(self, n, block):
    y, threads = square_roots(_X[:n], block=block)
    np.testing.assert_array_equal(y, np.sqrt(_X[:n]))
    self.assertLen(threads, 1 + -(-n // block))

  def test_small_work_is_done_at_once(self):
    _, (handler, task) = square_roots(_X, block=_X.size)
    self.assertEqual(handler, task)

  def test_large_work_is_done_by_the_pool(self):
    _, threads = square_roots(_X, block=_BLOCK)
    self.assertEqual(_in_the_pool(np.asarray(threads)), (0, 1))

  def test_xla_goes_on_in_the_pool(self):
    """Handlers that run there may not wait for others that would."""

    @jax.jit
    def repeat(x):
      def body(x, _):
        return square_roots(x, block=_BLOCK)

      return jax.lax.scan(body, x, None, length=20)

    y, threads = repeat(_X)
    np.testing.assert_allclose(y, _X**0.5**20, rtol=1e-5)
    inside, calls = _in_the_pool(np.asarray(threads))
    self.assertEqual(calls, 20)
    self.assertGreater(inside, 0)

  def test_calls_in_calls(self):
    """Loops in loops, of calls that do not need each other."""

    @jax.jit
    @jax.vmap
    def many(x):
      def body(x, _):
        (y, _), (z, _) = [square_roots(x + i, block=10) for i in range(2)]
        return y + z, ()

      return jax.lax.scan(body, x, None, length=5)[0]

    expected = x = _X[:400].reshape(4, 100)
    for _ in range(5):
      expected = np.sqrt(expected) + np.sqrt(expected + 1)
    np.testing.assert_allclose(many(x), expected, rtol=1e-5)

  @parameterized.parameters(_BLOCK, _X.size)
  def test_an_error_of_a_task(self, block):
    """An exception in C++: it reaches Python, and all goes on."""
    x = _X.copy()
    x[54_321] = -1
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError,
        r"INVALID_ARGUMENT: .*x\[54321\] must be 0 or more",
    ):
      jax.block_until_ready(square_roots(x, block=block))
    self.test_large_work_is_done_by_the_pool()

  @parameterized.parameters(
      (0, 3, 2, "block must be 1 or more, got 0"),
      (2, 4, 3, "y and threads must have 3 and 3 elements, got 4 and 3"),
      (2, 3, 2, "y and threads must have 3 and 3 elements, got 3 and 2"),
  )
  def test_refused(self, block, size, threads, message):
    results = [
        jax.ShapeDtypeStruct((size,), np.float32),
        jax.ShapeDtypeStruct((threads,), np.int64),
    ]
    call = jax.ffi.ffi_call("example_square_roots", results)
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.block_until_ready(call(_X[:3], block=np.int64(block)))


if __name__ == "__main__":
  absltest.main()
