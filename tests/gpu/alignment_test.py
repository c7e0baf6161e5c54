# SPDX-License-Identifier: Apache-2.0
"""Buffers that begin anywhere: no access may take them to be aligned."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
from ffi_calls import workspaces
from gpu_test_case import GpuTestCase
import jax
import jax.numpy as jnp
import numpy as np
import rms_norm_oracle as oracle
from rms_norm_oracle import normal
import wrapped_handlers

from jax_ffi_ops import rms_norm

jax.config.update("jax_enable_x64", True)

_DTYPES = ("float16", "bfloat16", "float32", "float64")
_COLS = (1, 4, 8, 64, 1024, 4096, 4104, 16384, 65536)
_FORWARD = "xla_ffi_ops_rms_norm_fwd"
_BACKWARD = "xla_ffi_ops_rms_norm_bwd"


def _longer(array):
  """Returns the array with one more in its first dimension."""
  return normal((array.shape[0] + 1, *array.shape[1:]), array.dtype, seed=9)


def _seen(array, shift):
  """Returns what a handler sees of an array."""
  shape = (array.shape[0] - 1, *array.shape[1:])
  first = int(shift)
  return np.ravel(array)[first : first + np.prod(shape, dtype=int)].reshape(
      shape
  )


def _call(target, shifts, operands, result_shapes, **attributes):
  """Calls a handler with shifted buffers; returns what it saw and wrote."""
  name = f"shifted_{target}_{'_'.join(shifts)}"
  if name not in wrapped_handlers.wrapped:
    wrapped_handlers.wrap(name, target, wrapped_handlers.shifting(*shifts))
  operand_shifts, result_shifts = shifts
  operands = [_longer(x) for x in operands]
  seen = [_seen(x, shift) for x, shift in zip(operands, operand_shifts)]
  results = [
      jax.ShapeDtypeStruct((shape[0] + 1, *shape[1:]), dtype)
      for shape, dtype in result_shapes
  ]
  exact = [jax.ShapeDtypeStruct(*result) for result in result_shapes]
  more = workspaces(target, seen, exact)
  written = jax.ffi.ffi_call(name, [*results, *more])(*operands, **attributes)
  written = map(np.asarray, written)
  return seen, [_seen(x, s) for x, s in zip(written, result_shifts)]


class AlignmentTest(GpuTestCase):

  @parameterized.product(
      dtype=_DTYPES, cols=_COLS, shifts=(("11", "11"), ("10", "00"),
                                         ("01", "00"), ("00", "10"))
  )  # fmt: skip
  def test_forward(self, dtype, cols, shifts):
    x, scale = np.zeros((5, cols), dtype=jnp.dtype(dtype)), np.zeros(cols, "f4")
    acc = oracle.accumulator(dtype)
    (x, scale), (y, _) = _call(
        _FORWARD,
        shifts,
        (x, scale.astype(x.dtype)),
        ((x.shape, x.dtype), ((5,), acc)),
        eps=np.float64(1e-6),
    )
    oracle.forward(x, scale).check(y)

  @parameterized.product(
      dtype=_DTYPES,
      cols=_COLS,
      shifts=(("1111", "11"), ("1000", "00"), ("0001", "00"), ("0000", "10")),
  )
  def test_backward(self, dtype, cols, shifts):
    x = np.zeros((5, cols), dtype=jnp.dtype(dtype))
    rstd = np.zeros(5, oracle.accumulator(dtype))
    (x, scale, rstd, dy), written = _call(
        _BACKWARD,
        shifts,
        (x, x[0], rstd, x),
        ((x.shape, x.dtype), ((cols,), x.dtype)),
        eps=np.float64(1e-6),
        batch_rank=np.int64(0),
    )
    expected = oracle.backward(x, scale, rstd, dy, summed=(0,))
    for want, got in zip(expected, written):
      want.check(got)

  @parameterized.parameters(*itertools.product(_DTYPES, (3, 8, 1024, 4096)))
  def test_slices_in_a_program(self, dtype, cols):
    """XLA may give a call a pointer into the array that is sliced."""
    flat = normal((6 * cols + 8,), dtype)

    @jax.jit
    def sliced(flat):
      return [
          rms_norm(flat[first : first + 5 * cols].reshape(5, cols))
          for first in (0, 1, 7)
      ]

    for first, y in zip((0, 1, 7), sliced(flat)):
      x = flat[first : first + 5 * cols].reshape(5, cols)
      oracle.forward(x).check(y)

  @parameterized.parameters("float16", "bfloat16", "float32")
  def test_tensors_of_torch(self, dtype):
    self.need_gpu()
    try:
      import torch
    except ImportError:
      self.skipTest("needs torch")
    for cols in (8, 1024, 4096):
      whole = torch.randn(5 * cols + 1, device="cuda").to(getattr(torch, dtype))
      x = jax.dlpack.from_dlpack(whole[1:].view(5, cols))
      oracle.forward(np.asarray(x)).check(jax.jit(rms_norm)(x))


if __name__ == "__main__":
  absltest.main()
