# SPDX-License-Identifier: Apache-2.0
"""Calls at the same time, on several streams, beside another library's work."""

from absl.testing import absltest
from gpu_test_case import for_each_op
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
from gpu_test_case import with_columns
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.exactness import checks

try:
  from jax.experimental.compute_on import compute_on2 as compute_on
except ImportError:  # From jax 0.11 on it has the other name.
  from jax.experimental.compute_on import compute_on

_TURNS = 20 if has_gpu() else 3
_SHAPES = (
    ((777, 4097), (4096, 1024), (64, 65_536))
    if has_gpu()
    else ((7, 4097), (40, 1024))
)


class StreamsTest(GpuTestCase):

  def setUp(self):
    super().setUp()
    self.traced = transforms.vjp(self.case)
    self.run_op = jax.jit(self.traced)
    self.args = []
    for rows, cols in _SHAPES:
      case = with_columns(self.case, cols)
      operands = case.arrays((rows,))
      self.args.append(
          jax.tree.map(jnp.array, (operands, case.cotangents(operands)))
      )
    self.expected = [self.run_op(*args) for args in self.args]

  def check_same(self, results):
    first, second = map(jax.tree.leaves, (self.expected, results))
    self.assertEqual(checks.different(first, second), [])

  def test_many_in_flight(self):
    """Nothing is waited for until all calls were made."""
    turns = range(_TURNS)
    for results in [[self.run_op(*x) for x in self.args] for _ in turns]:
      self.check_same(results)

  def test_streams_in_a_program(self):
    def on_stream(i):  # A CPU has none.
      if not has_gpu():
        return self.run_op
      # XLA does not find the stream of what is jitted once more.
      return compute_on(
          self.traced,
          compute_type=f"gpu_stream:{1 + i}",
          out_memory_spaces=jax.memory.Space.Device,
      )

    @jax.jit
    def together(args):
      return [on_stream(i)(*own) for i, own in enumerate(args)]

    for _ in range(_TURNS):
      self.check_same(together(self.args))

  def need_torch(self):
    self.need_gpu()
    try:
      import torch
    except ImportError:
      self.skipTest("needs torch")
    return torch

  def test_streams_of_torch(self):
    """Another library's work beside ours changes nothing."""
    torch = self.need_torch()
    with torch.cuda.stream(torch.cuda.Stream()):
      a = torch.randn(4096, 4096, device="cuda")
      for _ in range(_TURNS):
        a = (a @ a).clamp(-1, 1)
        self.check_same([self.run_op(*args) for args in self.args])

  def test_tensors_of_torch(self):
    """They begin at any multiple of 16 bytes: XLA refuses the others."""
    torch = self.need_torch()
    for size in (8, 1024, 4096):
      case = with_columns(self.case, size)
      first, *others = case.arrays((5,))
      before = 16 // first.itemsize
      whole = torch.from_numpy(np.pad(first.reshape(-1), (before, 0))).cuda()
      x = jax.dlpack.from_dlpack(whole[before:].view(first.shape))
      self.case = case
      self.compare_values(
          "jit of a tensor", jax.jit(case)(x, *others), [first, *others]
      )


for_each_op(StreamsTest)
del StreamsTest

if __name__ == "__main__":
  absltest.main()
