# SPDX-License-Identifier: Apache-2.0
"""Handlers in a CUDA graph: recorded once, replayed without being called.

What is replayed has right results although the handler was not called: so much
for a graph being in use. XLA makes one of 5 commands or more, unless told so.
"""

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import GpuTestCase
import jax
import jax.numpy as jnp
import numpy as np
import rms_norm_oracle as oracle
from rms_norm_oracle import normal
import wrapped_handlers

from jax_ffi_ops import rms_norm

_GRAPHS = {"xla_gpu_graph_min_graph_size": 1}
_NO_GRAPHS = {"xla_gpu_graph_min_graph_size": 1_000_000}
_RUNS = 50
_CALLS = 3  # of a program
_FORWARD = "xla_ffi_ops_rms_norm_unscaled_fwd"


def _chain(target):
  def chain(x):
    results = (
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        jax.ShapeDtypeStruct(x.shape[:-1], np.float32),
    )
    for _ in range(_CALLS):
      x, _ = jax.ffi.ffi_call(target, results)(x, eps=np.float64(1e-6))
    return x

  return chain


def _gradients(x, scale, dy):
  y, pull_back = jax.vjp(rms_norm, x, scale)
  return y, *pull_back(dy)


class CommandBufferTest(GpuTestCase):

  def calls(self, name, options):
    """Runs a program on several inputs; returns how often a handler ran."""
    calls = []
    wrapped_handlers.wrap(name, _FORWARD, wrapped_handlers.counting(calls))
    program = jax.jit(_chain(name), compiler_options=options)
    inputs = [normal((64, 512), "float32", seed) for seed in range(5)]
    for run in range(_RUNS):
      x = inputs[run % 5]
      y = jax.block_until_ready(program(jnp.array(x)))
      if run % 10 < 5:
        np.testing.assert_allclose(
            y, oracle.forward(x).value, rtol=1e-4, atol=1e-5
        )
      del y
    return len(calls)

  def test_without_graphs_each_run_calls_the_handler(self):
    self.assertEqual(self.calls("without_graph", _NO_GRAPHS), _RUNS * _CALLS)

  def test_a_graph_is_used(self):
    self.need_gpu()
    # A first few runs may go without, and a graph is recorded again where
    # buffers have moved: memory comes back from one run to the next.
    self.assertLess(self.calls("in_graph", _GRAPHS), _RUNS * _CALLS / 2)

  @parameterized.product(
      shape=((8, 4), (300, 1000), (64, 65536)),
      dtype=("bfloat16", "float32"),
  )
  def test_same_bits(self, shape, dtype):
    """With new inputs in each run, the old ones' memory in use or not."""
    outside = jax.jit(_gradients, compiler_options=_NO_GRAPHS)
    inside = jax.jit(_gradients, compiler_options=_GRAPHS)
    kept = []
    for seed in range(10):
      x, dy = (jnp.array(normal(shape, dtype, 2 * seed + i)) for i in range(2))
      args = x, jnp.array(normal(shape[-1:], dtype, seed)), dy
      kept += args[: seed % 3]  # Keeps some, so that addresses change.
      for want, got in zip(outside(*args), inside(*args)):
        np.testing.assert_array_equal(want, got)

  def test_loops_and_branches(self):
    def program(x, scale, count):
      def body(i, x):
        norm = lambda x: rms_norm(x, scale)
        return jax.lax.cond(i % 2 == 0, norm, lambda x: x + 1, x)

      return jax.lax.fori_loop(0, count, body, x)

    x, scale = normal((6, 1024), "float32"), normal((1024,), "float32", 1)
    for count in (1, 2, 7):
      results = [
          jax.jit(program, compiler_options=options)(x, scale, count)
          for options in (_GRAPHS, _NO_GRAPHS)
      ]
      np.testing.assert_array_equal(*results)


if __name__ == "__main__":
  absltest.main()
