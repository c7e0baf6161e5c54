# SPDX-License-Identifier: Apache-2.0
"""What results are written into: rubbish, operands, memory that was donated."""

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

_SHAPES = ((1, 1), (3, 5), (7, 1024), (300, 33), (2000, 256), (5, 65537))
_DTYPES = ("float16", "bfloat16", "float32")
_FORWARD = "xla_ffi_ops_rms_norm_fwd"
_BACKWARD = "xla_ffi_ops_rms_norm_bwd"
_EPS = np.float64(1e-6)


def _struct(x):
  return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _operands(shape, dtype):
  """Returns x, scale, rstd and dy."""
  x, dy = (normal(shape, dtype, seed) for seed in range(2))
  rstd, _ = oracle.rstd(x, 1e-6)
  return x, normal(shape[-1:], dtype, 2), rstd.astype(np.float32), dy


def _call_into(target, operands, results, attributes):
  """Calls a handler whose results are these arrays."""
  name = f"into_{target}_{len(results)}"
  if name not in wrapped_handlers.wrapped:
    change = wrapped_handlers.without_last_operands(len(results))
    wrapped_handlers.wrap(name, target, change)
  call = jax.ffi.ffi_call(
      name,
      [*map(_struct, results)],
      input_output_aliases={len(operands) + i: i for i in range(len(results))},
  )
  return jax.jit(lambda *arrays: call(*arrays, **attributes))(
      *operands, *results
  )


class BuffersTest(GpuTestCase):

  @parameterized.product(shape=_SHAPES, dtype=_DTYPES)
  def test_forward_writes_all(self, shape, dtype):
    x, scale, rstd, _ = _operands(shape, dtype)
    rubbish = [np.full_like(a, np.nan) for a in (x, rstd)]
    y, r = _call_into(_FORWARD, (x, scale), rubbish, dict(eps=_EPS))
    oracle.forward(x, scale).check(y)
    np.testing.assert_allclose(r, rstd, rtol=1e-4)

  @parameterized.product(shape=_SHAPES, dtype=_DTYPES)
  def test_backward_writes_all(self, shape, dtype):
    """Of a workspace, too, nothing is read that was not written."""
    operands = x, scale, rstd, dy = _operands(shape, dtype)
    results = [x, scale]
    results += workspaces(_BACKWARD, operands, results)
    rubbish = [np.full(a.shape, np.nan, a.dtype) for a in results]
    attributes = dict(eps=_EPS, batch_rank=np.int64(0))
    written = _call_into(_BACKWARD, operands, rubbish, attributes)
    expected = oracle.backward(x, scale, rstd, dy, summed=(0,))
    for want, got in zip(expected, written):
      want.check(got)

  @parameterized.product(shape=_SHAPES, dtype=_DTYPES)
  def test_forward_in_place(self, shape, dtype):
    x, scale, rstd, _ = _operands(shape, dtype)
    results = [_struct(x), _struct(rstd)]
    call = jax.ffi.ffi_call(_FORWARD, results, input_output_aliases={0: 0})
    program = jax.jit(lambda x: call(x, scale, eps=_EPS), donate_argnums=0)
    oracle.forward(x, scale).check(program(jnp.array(x))[0])

  @parameterized.product(shape=_SHAPES, dtype=_DTYPES, operand=(0, 3))
  def test_backward_in_place(self, shape, dtype, operand):
    """The gradient of x takes the place of x, or of dy."""
    operands = x, scale, rstd, dy = _operands(shape, dtype)
    results = [_struct(x), _struct(scale)]
    results += workspaces(_BACKWARD, operands, results)
    call = jax.ffi.ffi_call(
        _BACKWARD, results, input_output_aliases={operand: 0}
    )
    program = jax.jit(
        lambda *operands: call(*operands, eps=_EPS, batch_rank=np.int64(0)),
        donate_argnums=operand,
    )
    written = program(*map(jnp.array, operands))
    expected = oracle.backward(x, scale, rstd, dy, summed=(0,))
    for want, got in zip(expected, written):
      want.check(got)

  @parameterized.product(shape=_SHAPES, dtype=_DTYPES)
  def test_donated(self, shape, dtype):
    """A training step's way: memory changes hands in each of many calls."""
    x, scale, _, _ = _operands(shape, dtype)
    step = jax.jit(lambda x: rms_norm(x, scale), donate_argnums=0)
    y = jnp.array(x)
    for _ in range(3):
      expected = oracle.forward(np.asarray(y), scale)
      y = step(y)
      expected.check(y)

  def test_operands_are_kept(self):
    x, scale, _, dy = _operands((64, 4096), "bfloat16")
    arrays = [jnp.array(a) for a in (x, scale, dy)]

    def run(x, scale, dy):
      y, pull_back = jax.vjp(rms_norm, x, scale)
      return y, *pull_back(dy)

    jax.block_until_ready(jax.jit(run)(*arrays))
    for before, after in zip((x, scale, dy), arrays):
      np.testing.assert_array_equal(before, after)


if __name__ == "__main__":
  absltest.main()
