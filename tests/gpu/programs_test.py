# SPDX-License-Identifier: Apache-2.0
"""Programs for a GPU: which targets they call, exported ones, meshes of one."""

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import for_each_op
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
from gpu_test_case import with_columns
import jax
from jax import export
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.programs import Program


class ProgramsTest(GpuTestCase):

  def setUp(self):
    super().setUp()
    self.case = with_columns(self.case, 1024)
    self.run_op = transforms.vjp(self.case)
    operands = self.case.arrays((8, 6))
    self.args = operands, self.case.cotangents(operands)

  def check_program(self, row, function, *args):
    actual = jax.jit(function)(*(args or self.args))
    self.compare_vjp(row, actual, *self.args)

  def axes(self, name):
    """Returns how arrays are split by rows: weights are not."""
    split = lambda x: P(name) if x.ndim == 3 else P()
    return jax.tree.map(split, self.args)

  def test_the_library_has_handlers(self):
    """Else all tests here are of the reference."""
    platform = "cuda" if has_gpu() else "cpu"
    self.assertIn(platform, self.case.op.forward_platforms)
    self.assertIn(platform, self.case.op.backward_platforms)

  def test_the_program_calls_the_handlers(self):
    program = Program(self.run_op, *self.args)
    for op in kit.ops_of(self.case.function):
      for target in op.targets:
        self.assertEqual(program.calls(target), 1)

  def test_exported(self):
    (rows,) = export.symbolic_shape("rows")
    avals = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(
            (rows, *x.shape[1:]) if x.ndim == 3 else x.shape, x.dtype
        ),
        self.args,
    )
    for platforms in (
        ["cuda" if has_gpu() else "cpu"],
        ["cpu", "cuda", "tpu"],
    ):
      exported = export.export(
          jax.jit(self.run_op),
          platforms=platforms,
          disabled_checks=kit.export_checks(self.case.function),
      )(*avals)
      call = export.deserialize(exported.serialize()).call
      self.check_program(f"export for {platforms}", call)

  @parameterized.parameters(
      jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit
  )
  def test_mesh_of_one_device(self, kind):
    mesh = jax.make_mesh((1,), ("a",), axis_types=(kind,))
    placed = jax.tree.map(
        lambda x, spec: jax.device_put(x, NamedSharding(mesh, spec)),
        self.args,
        self.axes("a"),
    )
    with jax.set_mesh(mesh):
      self.check_program(f"a mesh with {kind}", self.run_op, *placed)

  def test_shard_map(self):
    auto = jax.sharding.AxisType.Auto
    mesh = jax.make_mesh((1,), ("a",), axis_types=(auto,))
    operands, cotangents = self.axes("a")
    moving = [operands[i] for i in self.case.differentiable]
    mapped = jax.shard_map(
        self.run_op,
        mesh=mesh,
        in_specs=(operands, cotangents),
        out_specs=(tuple(cotangents), moving),
    )
    self.check_program("shard_map", mapped)


for_each_op(ProgramsTest)
del ProgramsTest

if __name__ == "__main__":
  absltest.main()
