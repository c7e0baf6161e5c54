# SPDX-License-Identifier: Apache-2.0
"""Each family of primitives in C++ that the build wrote, against jax."""

from absl.testing import absltest
from absl.testing import parameterized
import families
import jax
import numpy as np

_SPECIAL = {
    "f": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 0.5, 1.5],
    "i": [0, -1, 1, 31, 32, 33, 2**31 - 1, -(2**31), -32, 2],
    "u": [0, 1, 2**32 - 1],
}


def _operands(shapes, rows, rng, special):
  for core, dtype in shapes:
    dtype, shape = np.dtype(dtype), (rows, *core)
    if special:
      yield rng.choice(np.array(_SPECIAL[dtype.kind], dtype), shape)
    elif dtype.kind == "f":
      yield rng.normal(size=shape).astype(dtype)
    elif dtype.kind == "u":
      yield rng.integers(0, 2**32, shape, dtype)
    else:
      yield rng.integers(-9, 10, shape, dtype)


class FamiliesTest(parameterized.TestCase):

  def _check(self, name, rows, special=False):
    op, function, shapes = families.OPS[name]
    rng = np.random.default_rng(rows)
    operands = list(_operands(shapes, rows, rng, special))
    got = op(*operands)
    expected = jax.jit(jax.vmap(function))(*operands)
    if special and name == "functions":  # arctan2 has its own test.
      got, expected = got[:-1], expected[:-1]
    for i, (x, want) in enumerate(zip(got, expected, strict=True)):
      self.assertEqual(x.dtype, want.dtype)
      if x.dtype.kind != "f":
        np.testing.assert_array_equal(x, want, f"result {i}")
        continue
      # Results of up to 400 terms of size 1, or of inverses of matrices of
      # condition 20; rounded to 2^-24.
      x, want = np.asarray(x), np.asarray(want)
      np.testing.assert_allclose(
          x, want, rtol=400 * 2**-24, atol=400 * 2**-24, err_msg=f"result {i}"
      )

  @parameterized.product(name=list(families.OPS), rows=(1, 3, 21))
  def test_values(self, name, rows):
    self._check(name, rows)

  @parameterized.parameters(
      "arithmetic", "functions", "integers", "indices", "sorts"
  )
  def test_special_values(self, name):
    self._check(name, 200, special=True)

  def test_arctan2_of_special_values(self):
    """Subnormal numbers are zeros. In XLA, two of them make a NaN."""
    values = np.float32(_SPECIAL["f"])
    a, b = (x.reshape(-1, 5)[:, [0, 1, 2, 3, 4, 0]]
            for x in np.meshgrid(values, values))  # fmt: skip
    op, function, _ = families.OPS["functions"]
    got = np.asarray(op(a, b)[-1])
    flushed = (np.where(np.abs(x) < 1e-38, x * 0, x) for x in (a, b))
    np.testing.assert_allclose(got, np.arctan2(*flushed), rtol=2**-23)
    by_xla = np.asarray(jax.jit(jax.vmap(function))(a, b)[-1])
    normal = (a != np.float32(1e-40)) & (b != np.float32(1e-40))
    np.testing.assert_allclose(got[normal], by_xla[normal], rtol=2**-22)


if __name__ == "__main__":
  absltest.main()
