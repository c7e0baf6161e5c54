# SPDX-License-Identifier: Apache-2.0
"""Programs of which XLA splits only what is split over some axes of a mesh."""

from collections.abc import Callable
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType

from jax_ffi_ops.kit.testing.cases import placements
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.placements import Placement
from jax_ffi_ops.kit.testing.cases.programs import Program
from jax_ffi_ops.kit.testing.conformance.communication import CommunicationBase


class _Mixed(Placement):
  """On a mesh whose first axis alone is explicit."""

  def mesh(self) -> jax.sharding.Mesh:
    mesh = super().mesh()
    others = (AxisType.Auto,) * (len(mesh.axis_names) - 1)
    return jax.sharding.Mesh(
        mesh.devices, mesh.axis_names, axis_types=(AxisType.Explicit, *others)
    )


class SomeAxesTest(CommunicationBase):
  """Split loops stay split, whatever the other axes are."""

  def test_some_axes_automatic_in_shard_map(self):
    placement = placements.GRID
    outer = dataclasses.replace(placement, loops=(placement.loops[0], None))
    mapped = jax.shard_map(
        self.case,
        in_specs=outer.specs(self.case),
        out_specs=outer.result_specs(self.case),
        axis_names={"a"},
    )
    # XLA:CPU aborts the process for an all-reduce of 16 bits there.
    wide = all(
        jnp.dtype(self.case.operands[i].dtype).itemsize > 2
        for i in self.case.parameters
    )
    self._check_some_axes("shard_map over 'a'", mapped, placement, wide)

  def test_some_axes_automatic_beside_explicit(self):
    grid = placements.GRID
    self._check_some_axes("jit", self.case, _Mixed(grid.mesh_axes, grid.loops))

  def _check_some_axes(
      self,
      row: str,
      function: Callable[..., Any],
      placement: Placement,
      has_gradients: bool = True,
  ):
    row = f"{row}, mesh {placement.mesh()}, loops over {placement.loops}"
    arrays = self.case.arrays()
    cotangents = self.case.cotangents(arrays)
    with jax.set_mesh(placement.mesh()):
      operands = placement.place(arrays, placement.specs(self.case))
      program = Program(function, *operands)
      self.compare_values(row, program(*operands), arrays)
      self.check_no_loop_gathered(row, program, placement)
      if not self.has_derivatives or not has_gradients:
        return
      row = f"vjp and {row}"
      specs = placement.cotangent_specs(self.case)
      placed = placement.place(cotangents, specs)
      program = Program(transforms.vjp(function), operands, placed)
      self.compare_vjp(row, program(operands, placed), arrays, cotangents)
      # One for the axes of each kind.
      for collective in program.collectives():
        if collective.opcode != "all-reduce":
          self.fail_row(row, f"the program has an {collective.opcode}")
