# SPDX-License-Identifier: Apache-2.0
"""Handlers in a CUDA graph: recorded once, replayed without being called.

What is replayed has right results although the handler was not called: so much
for a graph being in use. XLA makes one of 5 commands or more, unless told so.
"""

import contextlib
import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import at_most
from gpu_test_case import for_each_op
from gpu_test_case import GpuTestCase
from gpu_test_case import kinds
from gpu_test_case import program
from gpu_test_case import with_columns
import jax
import jax.numpy as jnp
import numpy as np
import wrapped_handlers

from jax_ffi_ops.kit.testing.cases import transforms

_GRAPHS = {"xla_gpu_graph_min_graph_size": 1}
_NO_GRAPHS = {"xla_gpu_graph_min_graph_size": 1_000_000}
_RUNS = 50
_CALLS = 3  # of a program


def _chain(frame, options):
  """Returns a program of several calls, each of what the last one returns."""
  call = program(frame)

  def chain(x, *others):
    for _ in range(_CALLS):
      x = call(x, *others)[0]
    return x

  return jax.jit(chain, compiler_options=options)


class CommandBufferTest(GpuTestCase):

  def count(self, name, options):
    """Runs a program on several inputs; returns how often a handler ran."""
    calls = []

    @contextlib.contextmanager
    def counting(frame):
      calls.append(frame)
      yield

    target, frame, arrays, _ = next(self.calls(self.case, 64))
    x, *others = arrays.values()
    name = wrapped_handlers.wrap(name, target, counting)
    counted = _chain(dataclasses.replace(frame, target=name), options)
    expected = _chain(frame, _NO_GRAPHS)
    for run in range(_RUNS):
      y = jax.block_until_ready(counted(jnp.array(x + run % 5), *others))
      if run % 10 < 5:
        np.testing.assert_array_equal(y, expected(x + run % 5, *others))
      del y
    return len(calls)

  def test_without_graphs_each_run_calls_the_handler(self):
    self.assertEqual(self.count("without_graph", _NO_GRAPHS), _RUNS * _CALLS)

  def test_a_graph_is_used(self):
    self.need_gpu()
    # A first few runs may go without, and a graph is recorded again where
    # buffers have moved: memory comes back from one run to the next.
    self.assertLess(self.count("in_graph", _GRAPHS), _RUNS * _CALLS / 2)

  @parameterized.parameters(at_most(((8, 4), (300, 1000), (64, 65_536)), 1))
  def test_same_bits(self, rows, cols):
    """With new inputs in each run, the old ones' memory in use or not."""
    for case in kinds(self.case, cols):
      function = transforms.vjp(case)
      outside = jax.jit(function, compiler_options=_NO_GRAPHS)
      inside = jax.jit(function, compiler_options=_GRAPHS)
      kept = []
      for seed in range(10):
        operands = case.arrays((rows,), seed=seed)
        args = operands, case.cotangents(operands, seed)
        args = jax.tree.map(jnp.array, args)
        kept += jax.tree.leaves(args)[: seed % 3]  # So that addresses change.
        jax.tree.map(
            np.testing.assert_array_equal, outside(*args), inside(*args)
        )

  def test_loops_and_branches(self):
    case = with_columns(self.case, 1024)

    def loop(count, x, *others):
      def body(i, x):
        call = lambda x: case(x, *others)[0]
        return jax.lax.cond(i % 2 == 0, call, lambda x: x + 1, x)

      return jax.lax.fori_loop(0, count, body, x)

    outside, inside = (
        jax.jit(loop, compiler_options=options)
        for options in (_NO_GRAPHS, _GRAPHS)
    )
    operands = case.arrays((6,))
    for count in (1, 2, 7):
      np.testing.assert_array_equal(
          outside(count, *operands), inside(count, *operands)
      )


for_each_op(CommandBufferTest)
del CommandBufferTest

if __name__ == "__main__":
  absltest.main()
