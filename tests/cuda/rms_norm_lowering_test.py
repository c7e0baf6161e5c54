# SPDX-License-Identifier: Apache-2.0
"""Programs with rms_norm for a GPU, made where there is none."""

import re

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp

from jax_ffi_ops import add_rms_norm
from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm

(_OP,) = kit.ops_of(rms_norm)


def _gradients(x, scale, dy):
  return jax.vjp(rms_norm, x, scale)[1](dy)


def _result_types(text, target):
  """Returns the types of the results of a program's calls of a target."""
  return [
      re.findall(r"tensor<(\S+?)>", results)
      for results in re.findall(rf"custom_call @{target}\(.*-> (.*)", text)
  ]


def _lowered(function, *shapes, platform="cuda", dtype=jnp.float32):
  with jax.enable_x64(True):
    avals = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    traced = jax.jit(function).trace(*avals)
    return traced.lower(lowering_platforms=(platform,)).as_text()


class RmsNormLoweringTest(parameterized.TestCase):

  def test_forward(self):
    text = _lowered(rms_norm, (8, 16), (16,))
    self.assertEqual(
        _result_types(text, "xla_ffi_ops_rms_norm_fwd"), [["8x16xf32", "8xf32"]]
    )

  @parameterized.parameters(
      ((8, 16), "float32", "3x16xf32"),
      ((1, 16), "float32", "1x16xf32"),
      ((0, 16), "float32", "1x16xf32"),
      ((8, 0), "float32", "3x0xf32"),
      ((100, 1000, 16), "bfloat16", "1786x16xf32"),
      ((4096, 32768), "float64", "193x32768xf64"),
      ((4096, 2**20), "float32", "74x1048576xf32"),
  )
  def test_workspace_of_the_gradient(self, shape, dtype, workspace):
    text = _lowered(_gradients, shape, shape[-1:], shape, dtype=dtype)
    ((*_, last),) = _result_types(text, "xla_ffi_ops_rms_norm_bwd")
    self.assertEqual(last, workspace)

  @parameterized.parameters(
      ("bfloat16", "float32", "3x16xf32"), ("float64", "float32", "3x16xf64")
  )
  def test_workspace_is_as_wide_as_sums(self, dtype, scale_dtype, workspace):
    with jax.enable_x64(True):
      x = jax.ShapeDtypeStruct((8, 16), dtype)
      scale = jax.ShapeDtypeStruct((16,), scale_dtype)
      traced = jax.jit(_gradients).trace(x, scale, x)
      text = traced.lower(lowering_platforms=("cuda",)).as_text()
    ((*_, last),) = _result_types(text, "xla_ffi_ops_rms_norm_bwd")
    self.assertEqual(last, workspace)

  def test_workspace_of_gradients_per_example(self):
    function = jax.vmap(_gradients, (0, None, 0))
    text = _lowered(function, (64, 100, 16), (16,), (64, 100, 16))
    ((*_, dscale, workspace),) = _result_types(text, "xla_ffi_ops_rms_norm_bwd")
    self.assertEqual(dscale, "64x16xf32")
    self.assertEqual(workspace, "64x4x16xf32")

  def test_no_workspace_on_the_cpu(self):
    with kit.using("handler if served"):
      text = _lowered(_gradients, (8, 16), (16,), (8, 16), platform="cpu")
    self.assertEqual(
        _result_types(text, "xla_ffi_ops_rms_norm_bwd"),
        [["8x16xf32", "16xf32"]],
    )

  def test_no_workspace_without_scale(self):
    text = _lowered(jax.grad(lambda x: rms_norm(x).sum()), (8, 16))
    self.assertEqual(
        _result_types(text, "xla_ffi_ops_rms_norm_bwd"), [["8x16xf32"]]
    )

  def test_workspace_for_the_gradient_of_scale_alone(self):
    x = jnp.ones((8, 16))
    gradient = jax.grad(lambda scale: add_rms_norm(x, x, scale)[0].sum())
    text = _lowered(gradient, (16,))
    self.assertEqual(
        _result_types(text, "xla_ffi_ops_add_rms_norm_bwd"),
        [["16xf32", "3x16xf32"]],
    )

  @parameterized.parameters(("cuda",), ("cpu", "cuda"), ("cuda", "tpu"))
  def test_export_with_a_symbolic_size(self, *platforms):
    (rows,) = export.symbolic_shape("rows")
    x = jax.ShapeDtypeStruct((rows, 16), jnp.float32)
    scale = jax.ShapeDtypeStruct((16,), jnp.float32)
    exported = export.export(
        jax.jit(_gradients),
        platforms=platforms,
        disabled_checks=kit.export_checks(rms_norm),
    )(x, scale, x)
    self.assertEqual(exported.platforms, platforms)
    self.assertNotEmpty(exported.serialize())
    for target in _OP.targets:
      self.assertIn(f"@{target}(", exported.mlir_module())


if __name__ == "__main__":
  absltest.main()
