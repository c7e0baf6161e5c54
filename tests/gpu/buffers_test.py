# SPDX-License-Identifier: Apache-2.0
"""Buffers that begin anywhere, and what results are written into."""

import dataclasses
import functools
import math

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import at_most
from gpu_test_case import for_each_op
from gpu_test_case import GpuTestCase
from gpu_test_case import kinds
from gpu_test_case import program
import jax
import jax.numpy as jnp
import numpy as np
import wrapped_handlers

from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.direct.frames import Buffer

# Rows and columns: each way in which kernels share out rows.
_SHAPES = (
    *((1, 1), (5, 8), (3, 1024), (300, 33), (40, 256), (5, 4104)),
    *((2, 16_384), (3, 65_537)),
)
# Which buffers begin after the first element of an allocation.
_SHIFTED = {
    "none": lambda operands, results: [],
    "all": lambda operands, results: range(operands + results),
    "first_operand": lambda operands, results: [0],
    "last_operand": lambda operands, results: [operands - 1],
    "first_result": lambda operands, results: [operands],
}


def _pad(x, shift):
  """Returns an array of NaN that has `x` from an element on."""
  padded = np.full((x.shape[0] + 1, *x.shape[1:]), np.nan, x.dtype)
  padded.reshape(-1)[shift : shift + x.size] = x.reshape(-1)
  return padded


def _call_into_nan(call, shifted):
  """Calls a handler that must neither read nor keep any of the NaN.

  Of a workspace, too, nothing is read that was not written.
  """
  target, frame, arrays, _ = call
  first = len(arrays)
  visible = [n for n in frame.results if not n.endswith("_workspace")]
  chosen = _SHIFTED[shifted](first, len(visible))
  shifts = [int(i in chosen) for i in range(len(frame.buffers))]
  change = functools.partial(wrapped_handlers.into_operands, shifts=shifts)
  nan = [np.full(b.shape, np.nan, b.dtype) for b in frame.results.values()]
  padded = list(map(_pad, [*arrays.values(), *nan], shifts))
  wider = {
      n: Buffer(x.shape, x.dtype) for n, x in zip(frame.results, padded[first:])
  }
  name = wrapped_handlers.wrap("".join(map(str, shifts)), target, change)
  written = program(
      dataclasses.replace(frame, target=name, results=wider),
      aliases={first + i: i for i in range(len(wider))},
  )(*padded)
  results = []
  for b, shift, x in zip(frame.results.values(), shifts[first:], written):
    x = np.asarray(x)
    own = slice(shift, shift + math.prod(b.shape))
    results.append(x.reshape(-1)[own].reshape(b.shape))
    # Bits: to NumPy, a NaN of bfloat16 may differ from itself.
    np.testing.assert_array_equal(
        x.view(np.uint8), _pad(results[-1], shift).view(np.uint8)
    )
  return results


class BuffersTest(GpuTestCase):

  @parameterized.parameters(at_most(_SHAPES, 2))
  def test_results_are_written_into_nan(self, rows, cols):
    for case in kinds(self.case, cols):
      for call in self.calls(case, rows):
        self.check(
            case, call, *(_call_into_nan(call, x) for x in at_most(_SHIFTED, 2))
        )

  @parameterized.parameters(at_most(_SHAPES, 2))
  def test_in_place(self, rows, cols):
    """The first result takes the place of an operand."""
    for case in kinds(self.case, cols):
      for _, frame, arrays, results in self.calls(case, rows):
        place = next(iter(frame.results.values()))
        for i, operand in enumerate(frame.operands.values()):
          if operand == place:
            call = program(frame, aliases={i: 0}, donate_argnums=i)
            written = call(*map(jnp.array, arrays.values()))
            np.testing.assert_array_equal(results[0], written[0])

  @parameterized.parameters(at_most(_SHAPES, 2))
  def test_donated(self, rows, cols):
    """A training step's way: memory changes hands in each of many calls."""
    for case in kinds(self.case, cols):
      x, *rest = case.arrays((rows,))
      step, donating = jax.jit(case), jax.jit(case, donate_argnums=0)
      kept, donated = jnp.array(x), jnp.array(x)
      for _ in range(3):
        kept, donated = step(kept, *rest)[0], donating(donated, *rest)[0]
        np.testing.assert_array_equal(kept, donated)

  def test_operands_are_kept(self):
    operands = self.case.arrays()
    args = operands, self.case.cotangents(operands)
    given = jax.tree.map(jnp.array, args)
    jax.block_until_ready(jax.jit(transforms.vjp(self.case))(*given))
    jax.tree.map(np.testing.assert_array_equal, args, given)


for_each_op(BuffersTest)
del BuffersTest

if __name__ == "__main__":
  absltest.main()
