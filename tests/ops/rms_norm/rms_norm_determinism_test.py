# SPDX-License-Identifier: Apache-2.0
"""rms_norm gives the same bits in every run and for any number of threads."""

from concurrent import futures
import functools
import hashlib
import os
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
from rms_norm_oracle import normal

from jax_ffi_ops import rms_norm

jax.config.update("jax_enable_x64", True)

# The threads of XLA's pool are named after Eigen, which they come from.
_PROGRAM = """
import pathlib
import rms_norm_determinism_test as test
print(test.digest(10_007, 33))
names = [f.read_text() for f in pathlib.Path("/proc/self/task").glob("*/comm")]
print(sum("XLAEigen" in name for name in names))
"""


@jax.jit
def _results(x, scale, dy):
  y, pull_back = jax.vjp(rms_norm, x, scale)
  return y, *pull_back(dy)


@functools.cache
def _operands(rows, cols, dtype):
  shapes = (rows, cols), (cols,), (rows, cols)
  return [normal(shape, dtype, seed) for seed, shape in enumerate(shapes)]


def digest(rows, cols):
  """Returns a hash of the bits of y, dx and dscale."""
  digests = hashlib.sha256()
  for dtype in ("bfloat16", "float32", "float64"):
    for array in _results(*_operands(rows, cols, dtype)):
      digests.update(np.asarray(array).tobytes())
  return digests.hexdigest()


def _digest_with_threads(threads):
  env = os.environ | {
      "JAX_PLATFORMS": "cpu",
      "NPROC": str(threads),
      "PYTHONPATH": os.pathsep.join(sys.path),
  }
  result = subprocess.run(
      [sys.executable, "-c", _PROGRAM],
      env=env,
      check=True,
      text=True,
      stdout=subprocess.PIPE,
  )
  digest_of_child, count = result.stdout.split()
  if int(count) != threads:
    raise AssertionError(f"XLA has {count} threads in place of {threads}.")
  return digest_of_child


class RmsNormDeterminismTest(parameterized.TestCase):

  @parameterized.parameters((4097, 33), (100_003, 2), (70, 4099))
  def test_run_to_run(self, rows, cols):
    self.assertLen({digest(rows, cols) for _ in range(20)}, 1)

  def test_any_number_of_threads(self):
    digests = {_digest_with_threads(threads) for threads in (1, 2, 7)}
    with jax.default_device(jax.devices("cpu")[0]):
      self.assertEqual(digests, {digest(10_007, 33)})

  def test_calls_at_the_same_time(self):
    with futures.ThreadPoolExecutor(4) as pool:
      digests = set(pool.map(lambda _: digest(4097, 33), range(16)))
    self.assertEqual(digests, {digest(4097, 33)})

  def test_many_calls_in_one_program(self):
    x = normal((4097, 33), "float32")

    @jax.jit
    def stacked(x):
      return [rms_norm(x + i) for i in range(8)]

    for i, y in enumerate(stacked(x)):
      np.testing.assert_array_equal(y, jax.jit(rms_norm)(x + np.float32(i)))


if __name__ == "__main__":
  absltest.main()
