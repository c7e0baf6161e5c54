# SPDX-License-Identifier: Apache-2.0
"""Arrays of 8 GB: more elements than an int32 can count.

They are made and checked on the device, in chunks of rows, from numbers that
are a hash of their place: a chunk that is right was read and written there.
"""

import functools

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import has_gpu
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import rms_norm

# Rows and columns: both many, narrow rows, wide rows.
_SHAPES = (
    ((262_147, 8192), (2**30 + 3, 2), (17_000, 131_075), (5, 2**29 + 1))
    if has_gpu()
    else ((263, 512), (1027, 2), (17, 1027), (5, 4097))
)
_CHUNK = 2**26 if has_gpu() else 2**12
_EPS = 1e-6


def _hashed(rows, cols, first, seed):
  """Returns rows of numbers in [-1, 1), scaled by the row."""
  row = (jax.lax.iota(jnp.uint32, rows) + first.astype(jnp.uint32))[:, None]
  value = row * np.uint32(0x9E3779B1)
  value ^= jax.lax.iota(jnp.uint32, cols) * np.uint32(0x85EBCA77)
  value += np.uint32(seed)
  for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
    value = (value ^ (value >> shift)) * np.uint32(factor)
  unit = (value >> 8).astype(jnp.float32) * np.float32(2**-23) - 1
  return unit * (1 + row % 7).astype(jnp.float32)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _make(shape, seed, dtype):
  return _hashed(*shape, jnp.int32(0), seed).astype(dtype)


def _reference(x, scale):
  rstd = 1 / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + _EPS)
  return x * rstd * scale


@functools.partial(jax.jit, static_argnums=(0,))
def _errors(rows, first, scale, y, dx):
  """Returns the largest errors in a chunk, and its part of dscale."""
  cols = scale.size
  x = _hashed(rows, cols, first, 1).astype(y.dtype).astype(jnp.float32)
  dy = _hashed(rows, cols, first, 2).astype(y.dtype).astype(jnp.float32)
  expected, pull_back = jax.vjp(_reference, x, scale)
  expected_dx, dscale = pull_back(dy)
  got, got_dx = (
      jax.lax.dynamic_slice_in_dim(a, first, rows).astype(jnp.float32)
      for a in (y, dx)
  )
  # NaN is the largest.
  return (
      jnp.max(jnp.abs(got - expected) / (1 + jnp.abs(expected))),
      jnp.max(jnp.abs(got_dx - expected_dx) / (1 + jnp.abs(expected_dx))),
      dscale,
  )


class LargeTest(parameterized.TestCase):

  @parameterized.product(shape=_SHAPES, dtype=("float32", "bfloat16"))
  def test_large(self, shape, dtype):
    rows, cols = shape
    scale = _hashed(1, cols, jnp.int32(5), 3)[0]

    @jax.jit
    def run(x, dy, scale):
      y, pull_back = jax.vjp(rms_norm, x, scale)
      return y, *pull_back(dy)

    dy = _make(shape, 2, dtype)
    y, dx, dscale = run(_make(shape, 1, dtype), dy, scale)
    del dy
    chunk = max(1, min(rows, _CHUNK // cols))
    total, size = np.zeros(cols), np.zeros(cols)
    allowed = 1e-4 if dtype == "float32" else 1e-2
    for first in range(0, rows, chunk):
      count = min(chunk, rows - first)
      error, error_dx, part = _errors(count, jnp.int32(first), scale, y, dx)
      self.assertLess(float(error), allowed, f"y, rows from {first}")
      self.assertLess(float(error_dx), allowed, f"dx, rows from {first}")
      part = np.asarray(part, np.float64)
      total += part
      size += np.abs(part)
    # Terms of all signs: what they add up to is a small part of their sizes.
    np.testing.assert_array_less(
        np.abs(dscale - total), 1e-3 * (size + np.sqrt(rows))
    )

  def test_8_gigabytes_were_tested(self):
    if not has_gpu():
      self.skipTest("needs a GPU")
    for rows, cols in _SHAPES:
      self.assertGreater(rows * cols, 2**31)


if __name__ == "__main__":
  absltest.main()
