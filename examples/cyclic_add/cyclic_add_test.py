# SPDX-License-Identifier: Apache-2.0
"""The handler from JAX and from StableHLO; what is refused, and by whom."""

from absl.testing import absltest
from absl.testing import parameterized
from cyclic_add import cyclic_add
from cyclic_add import PROGRAM
from cyclic_add import run
import jax
import numpy as np

_VECTOR = "tensor<{}xf32>".format


def _random(size):
  return np.random.default_rng(size).normal(size=size).astype(np.float32)


class CyclicAddTest(parameterized.TestCase):

  @parameterized.parameters(
      (1, 5), (3, 10), (8, 8), (9, 4), (2, 0), (1000, 1_000_003)
  )
  def test_values(self, n, size):
    a, b = _random(n), _random(size)
    expected = np.resize(a, size) + b
    np.testing.assert_array_equal(jax.jit(cyclic_add)(a, b), expected)
    program = PROGRAM.format(a=_VECTOR(n), b=_VECTOR(size), out=_VECTOR(size))
    np.testing.assert_array_equal(run(program, a, b), expected)

  @parameterized.parameters(
      ("3xi32", "4xf32", "4xf32", "buffer dtype: expected F32 but got S32"),
      ("3xf32", "2x2xf32", "2x2xf32", "buffer rank: expected 1 but got 2"),
      ("3xf32", "4xf32", "4xf64", "buffer dtype: expected F32 but got F64"),
      ("3xf32", "4xf32", "5xf32", "out must have 4 elements, as b, got 5"),
      ("0xf32", "4xf32", "4xf32", "a must have an element, got none"),
  )
  def test_refused(self, a, b, out, message):
    """By the headers, before the function runs; the last two by the function."""
    types = [f"tensor<{x}>" for x in (a, b, out)]
    dtypes = {"f32": np.float32, "i32": np.int32}
    arrays = [
        np.zeros([int(n) for n in sizes], dtypes[dtype])
        for *sizes, dtype in (a.split("x"), b.split("x"))
    ]
    with (
        jax.enable_x64(True),
        self.assertRaisesRegex(jax.errors.JaxRuntimeError, message),
    ):
      run(PROGRAM.format(a=types[0], b=types[1], out=types[2]), *arrays)


if __name__ == "__main__":
  absltest.main()
