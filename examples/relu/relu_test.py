# SPDX-License-Identifier: Apache-2.0
"""What each rule of a primitive makes of it."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
from jax.test_util import check_grads
import numpy as np
from relu import gate
from relu import relu

_TARGET = "example_relu_gate"
_X = np.array([[-2.0, -0.0, 0.5], [3.0, 0.0, -1.0]], np.float32)
_STEP = (_X > 0).astype(np.float32)


def _backward(x):
  return jax.grad(lambda x: relu(x).sum())(x)


def _text(function, platform, *operands):
  traced = jax.jit(function).trace(*operands)
  return traced.lower(lowering_platforms=(platform,)).as_text()


class ReluTest(parameterized.TestCase):

  @parameterized.parameters("float16", "bfloat16", "float32")
  def test_values(self, dtype):
    x = jnp.asarray(_X, dtype)
    for function in (relu, jax.jit(relu)):
      np.testing.assert_array_equal(function(x), jnp.maximum(x, 0))
    for function in (_backward, jax.jit(_backward)):
      np.testing.assert_array_equal(function(x), _STEP)
      self.assertEqual(function(x).dtype, x.dtype)

  @parameterized.parameters("cpu", "cuda", "tpu")
  def test_relu_is_stablehlo(self, platform):
    text = _text(relu, platform, _X)
    self.assertIn("stablehlo.maximum", text)
    self.assertNotIn("custom_call", text)

  @parameterized.parameters(
      ("cpu", np.float32, True),
      ("cpu", np.float16, False),
      ("cuda", np.float32, False),
      ("tpu", np.float32, False),
  )
  def test_gate_is_a_handler_on_the_cpu(self, platform, dtype, handler):
    text = _text(_backward, platform, _X.astype(dtype))
    self.assertEqual(f"@{_TARGET}(" in text, handler)
    self.assertEqual("stablehlo.select" in text, not handler)

  def test_export_for_tpu(self):
    program = export.export(jax.jit(_backward), platforms=("tpu",))(_X)
    self.assertEqual(program.platforms, ("tpu",))
    self.assertIn("stablehlo.select", program.mlir_module())
    self.assertNotIn("custom_call", program.mlir_module())

  def test_export_for_all(self):
    """jax.export wants to be told that a target is stable."""
    platforms = ("cpu", "cuda", "tpu")
    with self.assertRaisesRegex(ValueError, _TARGET):
      export.export(jax.jit(_backward), platforms=platforms)(_X)
    program = export.export(
        jax.jit(_backward),
        platforms=platforms,
        disabled_checks=[export.DisabledSafetyCheck.custom_call(_TARGET)],
    )(_X)
    self.assertEqual(program.mlir_module().count(f"@{_TARGET}("), 1)
    self.assertIn("stablehlo.select", program.mlir_module())
    np.testing.assert_array_equal(program.call(_X), _STEP)

  def test_transformations_end_in_the_two_primitives(self):
    def names(function):
      jaxpr = jax.make_jaxpr(function)(_X)
      return {e.primitive.name for e in jaxpr.eqns} & {"relu", "relu_gate"}

    self.assertEqual(names(relu), {"relu"})
    self.assertEqual(names(jax.vmap(relu)), {"relu"})
    both = {"relu", "relu_gate"}
    self.assertEqual(names(lambda x: jax.jvp(relu, (x,), (x,))), both)
    self.assertEqual(names(_backward), both)
    self.assertEqual(names(jax.vmap(_backward)), both)

  def test_derivatives(self):
    x = _X + 0.25  # Where there is a derivative.
    check_grads(relu, (x,), order=3, modes=("fwd", "rev"))
    check_grads(lambda t: gate(x, t), (x,), order=2, modes=("fwd", "rev"))
    expected = np.diag((x[0] > 0).astype(np.float32))
    for jacobian in (jax.jacfwd, jax.jacrev):
      np.testing.assert_array_equal(jacobian(relu)(x[0]), expected)
    np.testing.assert_array_equal(jax.hessian(relu)(x[0]), np.zeros((3, 3, 3)))

  @parameterized.parameters(0, 1, -1)
  def test_vmap(self, axis):
    mapped = jax.vmap(relu, in_axes=axis, out_axes=axis)
    np.testing.assert_array_equal(mapped(_X), np.maximum(_X, 0))
    mapped = jax.vmap(jax.grad(lambda x: relu(x).sum()), axis, axis)
    np.testing.assert_array_equal(mapped(_X), _STEP)

  @parameterized.parameters((0, 0), (1, 1), (0, 1), (None, 0), (1, None))
  def test_vmap_of_the_gate(self, *axes):
    x, t = (
        np.random.default_rng(i).normal(size=3 if axis is None else (3, 3))
        for i, axis in enumerate(axes)
    )
    x, t = x.astype(np.float32), t.astype(np.float32)
    rows = [
        np.broadcast_to(v if axis is None else np.moveaxis(v, axis, 0), (3, 3))
        for v, axis in zip((x, t), axes)
    ]
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(gate, axes))(x, t), np.where(rows[0] > 0, rows[1], 0)
    )

  def test_avals_are_checked(self):
    with self.assertRaisesRegex(TypeError, "x must be floating, got int32"):
      relu(np.zeros(3, np.int32))
    with self.assertRaisesRegex(TypeError, "x and t must be alike"):
      gate(np.zeros(3, np.float32), np.zeros(4, np.float32))

  @parameterized.parameters(
      ((3,), np.float16, (3,), r"must be float32\[3\], got float16\[3\]"),
      ((4,), np.float32, (3,), r"must be float32\[3\], got float32\[4\]"),
      ((3,), np.float32, (4,), r"must be float32\[3\], got float32\[4\]"),
      ((3,), np.float32, (3, 1), r"must be float32\[3\], got float32\[3, 1\]"),
  )
  def test_the_handler_checks(self, shape, dtype, result, message):
    call = jax.ffi.ffi_call(_TARGET, jax.ShapeDtypeStruct(result, np.float32))
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.block_until_ready(
          call(np.zeros(3, np.float32), np.zeros(shape, dtype))
      )


if __name__ == "__main__":
  absltest.main()
