# SPDX-License-Identifier: Apache-2.0
"""More elements than an int32 can count: arrays of 4 and 9 GB.

They are made and checked on the device, in chunks of rows, from numbers that
are a hash of their place: a chunk that is right was read and written there.
"""

import dataclasses
import functools

from absl.testing import absltest
from absl.testing import parameterized
import gpu_test_case as gpu
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.dtypes import accumulator
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.exactness.rounding import gamma
from jax_ffi_ops.kit.testing.exactness.rounding import row_additions

# Rows and columns: both many, narrow rows, wide rows.
_SHAPES = (
    ((262_147, 8192), (2**30 + 3, 2), (17_000, 131_075), (16, 2**27 + 1))
    if gpu.has_gpu()
    else ((33, 512), (5, 4097))
)
# The chunk that is compared is about 16 arrays of 0.5 GB in float64, or of 1.1 GB
# where a row has 2**27 columns. With add_rms_norm's sum, dy, dsum, dx and
# dresidual of 8.6 GB it is 51 to 60 GB. XLA takes at most 0.75 of the memory if
# it is not told otherwise, which is 64 of an H100's 85 GB.
_CHUNK = 2**26 if gpu.has_gpu() else 2**12


@functools.partial(jax.jit, static_argnums=(0, 1, 3, 4))
def _hashed(seed, rows, first, cols, dtype):
  """Returns numbers in [-4, 4), of which any two have an exact sum."""
  row = (jax.lax.iota(jnp.uint32, rows) + jnp.uint32(first))[:, None]
  value = row * np.uint32(0x9E3779B1)
  value ^= jax.lax.iota(jnp.uint32, cols) * np.uint32(0x85EBCA77)
  value += np.uint32(seed)
  for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
    value = (value ^ (value >> shift)) * np.uint32(factor)
  return (((value >> 25).astype(jnp.float32) - 64) / 16).astype(dtype)


def _operands(case, rows, first, dtype=None):
  """Returns rows of the operands of a case."""
  found = []
  for i, x in enumerate(case.operands):
    own = (1, 0) if i in case.parameters else (rows, first)
    array = _hashed(i, *own, *x.core, dtype or x.dtype)
    found.append(array[0] if i in case.parameters else array)
  return found


def _terms(cols):
  """Returns how many roundings sums of blocks of columns have."""
  return 1024 + cols // 1024


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _compare(case, rows, is_backward, first, results):
  """Compares rows with the reference in float64.

  Returns:
    For each result the largest error, in parts of what is allowed; for one that
    is a sum over rows, the sum of these, and that of their sizes.
  """
  operands = _operands(case, rows, first, np.float64)
  cols = operands[0].shape[1]
  cotangents = [
      _hashed(10 + i, rows, first, cols, np.float64)
      for i in range(len(case.op.outputs))
  ]
  axes = [x.ndim - 2 and None for x in operands]
  run = jax.vmap(transforms.vjp(case.oracle.function), (axes, 0))
  found = []
  for want, got in zip(run(operands, cotangents)[is_backward], results):
    size = jnp.abs(want)
    if got.ndim == 1:
      found.append((want.sum(0), size.sum(0)))
      continue
    info, sums = jnp.finfo(got.dtype), jnp.finfo(accumulator(got.dtype))
    allowed = float(info.eps) * size + float(info.smallest_normal)
    allowed += _terms(cols) * float(sums.eps) * jnp.max(size)
    got = jax.lax.dynamic_slice_in_dim(got, first, rows)
    # NaN is the largest.
    found.append(jnp.max(jnp.abs(got - want) / allowed))
  return found


@gpu.for_each_op
class LargeTest(gpu.GpuTestCase):

  @parameterized.product(shape=_SHAPES, dtype=("float32", "bfloat16"))
  def test_large(self, shape, dtype):
    rows, cols = shape
    self.assertEqual(rows * cols > 2**31, gpu.has_gpu())
    case = gpu.with_columns(self.case, cols)
    slots = [dataclasses.replace(x, dtype=dtype) for x in case.slots]
    case = dataclasses.replace(case, slots=slots)

    def cotangent(seed, shape, dtype):
      # There is room for one array that the forward pass kept, and for these.
      large = [x for x in jax.live_arrays() if x.size == rows * cols]
      self.assertLen(large, 1 + seed - 10)
      return _hashed(seed, shape[0], 0, shape[1], dtype)

    for call in gpu.calls(case, _operands(case, rows, 0), cotangent):
      self.check_rows(case, call, rows, cols)
      del call  # Its arrays have to go before the next call.

  def check_rows(self, case, call, rows, cols):
    step = max(1, min(rows, _CHUNK // cols))
    sums = {}
    for first in range(0, rows, step):
      count = min(step, rows - first)
      backward = call.target.is_backward
      found = _compare(case, count, backward, first, call.results)
      for name, x in zip(call.frame.results, found):
        if isinstance(x, tuple):
          sums[name] = jax.tree.map(jnp.add, sums.get(name, (0, 0)), x)
        else:
          self.assertLess(float(x), 1, f"{name}, rows from {first}")
    for name, got in zip(call.frame.results, call.results):
      if name in sums:
        total, size = sums[name]
        roundings = row_additions(rows, 1) + _terms(cols)
        allowed = float(gamma(roundings, accumulator(got.dtype))) * size
        allowed += float(jnp.finfo(got.dtype).eps) * jnp.abs(total)
        error = jnp.max(jnp.abs(got - total) / allowed)
        self.assertLess(float(error), 1, name)


if __name__ == "__main__":
  absltest.main()
