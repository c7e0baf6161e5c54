# SPDX-License-Identifier: Apache-2.0
"""Rows of every width: on both sides of where a kernel gives way to another."""

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import at_most
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
import jax
import jax.numpy as jnp
import numpy as np
import rms_norm_oracle as oracle
from rms_norm_oracle import normal

from jax_ffi_ops import rms_norm

jax.config.update("jax_enable_x64", True)

_POWERS = [2**i for i in range(19)]
_COLS = sorted(
    {max(1, power + i) for power in _POWERS for i in (-1, 0, 1)}
    | {3 * 2**i for i in range(17)}
    # What vectors of 16 bytes take, and one element more or less.
    | {1000, 2000, 5120, 8200, 12296, 20480, 50_000, 200_008, 300_000}
)
_KINDS = (
    ("float16", "float16"),
    ("bfloat16", "bfloat16"),
    ("bfloat16", "float32"),
    ("float32", "float32"),
    ("float32", None),
    ("float64", "float64"),
)
_LONG = ((100_003, 1), (300_001, 8), (65_537, 33), (131_073, 64))
_ELEMENTS = 2**19 if has_gpu() else 2**14


@jax.jit
def _run(x, scale, dy):
  y, pull_back = jax.vjp(rms_norm, x, scale)
  return y, *pull_back(dy)


class ColumnsTest(GpuTestCase):

  def check(self, x, scale, dy):
    y, dx, dscale = _run(x, scale, dy)
    oracle.forward(x, scale).check(y)
    expected_dx, expected_dscale = oracle.gradient(x, scale, dy)
    expected_dx.check(dx)
    if scale is not None:
      expected_dscale.check(dscale)

  @parameterized.product(cols=at_most(_COLS, 8), kind=_KINDS)
  def test_columns(self, cols, kind):
    dtype, scale_dtype = kind
    for rows in {1, 5, min(150, _ELEMENTS // cols)} - {0}:
      x, dy = (normal((rows, cols), dtype, seed) for seed in range(2))
      self.check(x, scale_dtype and normal((cols,), scale_dtype, 2), dy)

  @parameterized.product(shape=at_most(_LONG, 1), kind=_KINDS)
  def test_many_rows(self, shape, kind):
    dtype, scale_dtype = kind
    x, dy = (normal(shape, dtype, seed) for seed in range(2))
    self.check(x, scale_dtype and normal(shape[-1:], scale_dtype, 2), dy)

  @parameterized.product(
      cols=(33, 4096, 16385, 65536), axes=((0, 0), (0, None), (None, 0))
  )
  def test_vmap(self, cols, axes):
    """Operands that are not batched are broadcast by the kernel."""
    x, dy = (normal((3, 4, cols), "bfloat16", seed) for seed in range(2))
    scale = normal((3, cols), "bfloat16", 2)
    own = [a if axis == 0 else a[:1] for a, axis in zip((x, scale), axes)]
    args = [a if axis == 0 else a[0] for a, axis in zip((x, scale), axes)]
    y, dx, dscale = jax.vmap(_run, (*axes, 0))(*args, dy)
    x, scale = own[0], own[1][:, None]
    oracle.forward(x, scale).check(y)
    r, error = oracle.rstd(x, 1e-6)
    expected = oracle.backward(x, scale, r, dy, summed=(1,), rstd_error=error)
    for want, got in zip(expected, (dx, dscale)):
      want.check(got)

  @parameterized.product(
      cols=(4, 33, 1024, 4097, 65536),
      dtype=("float16", "bfloat16", "float32", "float64"),
  )
  def test_rows_that_are_not_finite(self, cols, dtype):
    """They change no other row, wherever in the row the number is."""
    x = normal((9, cols), dtype)
    x[1, 0] = x[3, -1] = x[5, cols // 2] = np.nan
    x[2, -1] = x[5, 0] = np.inf
    x[6, cols // 3] = -np.inf
    x[7] = 0
    scale = normal((cols,), dtype, 1)
    oracle.forward(x, scale).check(_run(x, scale, x)[0])
    finite = [0, 4, 7, 8]
    dy = normal((9, cols), dtype, 2)
    dx = np.asarray(_run(x, scale, dy)[1])
    expected, _ = oracle.gradient(x[finite], scale, dy[finite])
    expected.check(dx[finite])
    self.assertFalse(np.isfinite(dx[[1, 3, 5]].astype("float32")).any())

  @parameterized.parameters(1024, 65536)
  def test_python_scalars_of_eps(self, cols):
    x = normal((3, cols), "float32")
    for eps in (0.0, 1.0, np.inf):
      y = jax.jit(lambda x, eps=eps: rms_norm(x, eps=eps))(jnp.asarray(x))
      oracle.forward(x, eps=eps).check(y)


if __name__ == "__main__":
  absltest.main()
