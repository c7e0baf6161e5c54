# SPDX-License-Identifier: Apache-2.0
"""Programs for a GPU: which targets they call, exported ones, one device's mesh."""

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
import jax
from jax import export
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np
import rms_norm_oracle as oracle
from rms_norm_oracle import normal

from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit.op import find

_OP = find("xla_ffi_ops_rms_norm")


def _run(x, scale, dy):
  y, pull_back = jax.vjp(rms_norm, x, scale)
  return y, *pull_back(dy)


class ProgramsTest(GpuTestCase):

  def setUp(self):
    super().setUp()
    self.x, self.dy = (normal((8, 6, 1024), "float32", i) for i in range(2))
    self.scale = normal((1024,), "float32", 2)
    self.args = self.x, self.scale, self.dy

  def check(self, results):
    y, dx, dscale = results
    oracle.forward(self.x, self.scale).check(y)
    for want, got in zip(oracle.gradient(*self.args), (dx, dscale)):
      want.check(got)

  def test_the_library_has_cuda_handlers(self):
    """Else all tests here are of the reference."""
    self.need_gpu()
    self.assertIn("cuda", _OP.declaration.forward_platforms)
    self.assertIn("cuda", _OP.declaration.backward_platforms)

  def test_the_program_calls_the_handlers(self):
    text = jax.jit(_run).lower(*self.args).compile().as_text()
    for target in _OP.targets:
      self.assertEqual(text.count(f'custom_call_target="{target}"'), 1)

  def test_exported(self):
    platform = "cuda" if has_gpu() else "cpu"
    checks = kit.export_checks(_OP)
    (rows,) = export.symbolic_shape("rows")
    avals = [
        jax.ShapeDtypeStruct((rows, 6, 1024), np.float32),
        jax.ShapeDtypeStruct((1024,), np.float32),
        jax.ShapeDtypeStruct((rows, 6, 1024), np.float32),
    ]
    for platforms in ([platform], ["cpu", "cuda", "tpu"]):
      exported = export.export(
          jax.jit(_run), platforms=platforms, disabled_checks=checks
      )(*avals)
      data = exported.serialize()
      self.check(jax.jit(export.deserialize(data).call)(*self.args))

  @parameterized.parameters("Auto", "Explicit")
  def test_mesh_of_one_device(self, name):
    kind = jax.sharding.AxisType[name]
    mesh = jax.make_mesh((1,), ("a",), axis_types=(kind,))
    split = NamedSharding(mesh, P("a"))
    whole = NamedSharding(mesh, P())
    with jax.set_mesh(mesh):
      placed = jax.device_put(self.args, (split, whole, split))
      self.check(jax.jit(_run)(*placed))

  def test_shard_map(self):
    auto = jax.sharding.AxisType.Auto
    mesh = jax.make_mesh((1,), ("a",), axis_types=(auto,))
    specs = (P("a"), P(), P("a"))
    mapped = jax.shard_map(
        _run, mesh=mesh, in_specs=specs, out_specs=(P("a"), P("a"), P())
    )
    self.check(jax.jit(mapped)(*self.args))

  def test_scan(self):
    """The handlers inside a loop, on parts of what is looped over."""

    def scanned(x, scale, dy):
      def step(total, xs):
        y, dx, dscale = _run(xs[0], scale, xs[1])
        return total + dscale, (y, dx)

      dscale, (y, dx) = jax.lax.scan(step, jnp.zeros(1024), (x, dy))
      return y, dx, dscale

    self.check(jax.jit(scanned)(*self.args))

  def test_an_error_names_the_op(self):
    """And the device works afterwards."""
    call = jax.ffi.ffi_call(
        "xla_ffi_ops_rms_norm_unscaled_fwd",
        jax.ShapeDtypeStruct((2, 4), np.float32),
    )
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "xla_ffi_ops_rms_norm_unscaled_fwd: "
    ):
      jax.block_until_ready(call(self.x, eps=np.float64(0)))
    self.check(jax.jit(_run)(*self.args))


if __name__ == "__main__":
  absltest.main()
