# SPDX-License-Identifier: Apache-2.0
"""Blocks that share rows: the same bits in each of very many runs.

A wait that is missing shows in one run of thousands, as another sum.
"""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import for_each_op
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
from gpu_test_case import with_columns
import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.testing.cases import transforms

# In float32, clusters of 2, 4, 8 and 16 blocks; and few rows, which get larger
# ones than they need.
_SHAPES = (
    ((33, 2**15), (33, 2**16), (33, 2**17), (33, 2**18), (1, 2**13))
    if has_gpu()
    else ((3, 1024),)
)
_RUNS = 10_000 if has_gpu() else 3


def _bits(x):
  return jax.lax.bitcast_convert_type(x, f"uint{8 * x.dtype.itemsize}")


class ClustersTest(GpuTestCase):

  @parameterized.product(shape=_SHAPES, dtype=("float32", "bfloat16"))
  def test_same_bits(self, shape, dtype):
    rows, cols = shape
    case = with_columns(self.case, cols)
    slots = [x and dataclasses.replace(x, dtype=dtype) for x in case.slots]
    case = dataclasses.replace(case, slots=slots)
    run = transforms.vjp(case)
    sets = []
    for seed in range(2):
      operands = case.arrays((rows,), seed=seed)
      sets.append((operands, case.cotangents(operands, seed)))
    args = jax.tree.map(lambda *xs: jnp.stack(xs), *sets)
    alone = [jax.jit(run)(*own) for own in sets]
    expected = jax.tree.map(lambda *xs: jnp.stack(xs), *alone)

    @jax.jit
    def count_different(args, expected):
      def body(i, count):
        # Of two sets in turn: XLA would make one call for all runs of a loop.
        own, wanted = jax.tree.map(lambda x: x[i % 2], (args, expected))
        differ = jax.tree.map(
            lambda x, y: jnp.any(_bits(x) != _bits(y)), run(*own), wanted
        )
        return count + jnp.any(jnp.stack(jax.tree.leaves(differ)))

      return jax.lax.fori_loop(0, _RUNS, body, 0)

    compiled = count_different.lower(args, expected).compile()
    loop, _, main = compiled.as_text().partition("\nENTRY ")
    self.assertTrue(case.op.forward_target in loop, "no call in the loop")
    self.assertFalse(case.op.forward_target in main, "a call before the loop")
    self.assertEqual(compiled(args, expected), 0, f"of {_RUNS} runs differ")
    changed = jax.tree.map(lambda x: x.at[0].set(-x[0]), expected)
    self.assertEqual(compiled(args, changed), (_RUNS + 1) // 2)


for_each_op(ClustersTest)
del ClustersTest

if __name__ == "__main__":
  absltest.main()
