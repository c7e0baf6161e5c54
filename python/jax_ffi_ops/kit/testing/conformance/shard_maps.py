# SPDX-License-Identifier: Apache-2.0
"""Programs that the user splits over devices: shard_map."""

import dataclasses

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.testing.cases import placements
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.placements import Placement
from jax_ffi_ops.kit.testing.cases.programs import Program
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.conformance.communication import CommunicationBase


class ShardMapTest(CommunicationBase):
  """Each shard is the op of its own operands."""

  def test_shard_map_over_all_axes(self):
    placement = placements.GRID
    operands = self.case.arrays()
    for check_vma in (True, False) if THOROUGH else (True,):
      row = f"shard_map with check_vma={check_vma}, {placement}"
      function = self._mapped(placement, check_vma=check_vma)
      if THOROUGH:  # Each operation is compiled for itself.
        self.check_values(f"an eager {row}", function, operands)
      self.check_no_loop_gathered(row, Program(function, *operands), placement)
      self.check_same(row, function)

  def test_shard_map_without_loops(self):
    for shared in self.case.shared_sets()[1:]:
      placement = dataclasses.replace(placements.GRID, shared=shared)
      operands = self.case.arrays(shared=shared)
      row = f"shard_map, {placement}"
      self.check_same(row, self._mapped(placement), operands)
      self._check_gradient_inside(placement)

  def test_shard_map_over_some_axes(self):
    placement = Placement(placements.GRID.mesh_axes, ("a", None))
    operands = self.case.arrays()
    # XLA:CPU aborts the process for an all-reduce of 16 bits there.
    has_gradients = all(
        jnp.dtype(self.case.operands[i].dtype).itemsize > 2
        for i in self.case.parameters
    )
    for check_vma in (True, False) if THOROUGH else (False,):
      row = f"shard_map over 'a' with check_vma={check_vma}, {placement}"
      function = self._mapped(placement, axis_names={"a"}, check_vma=check_vma)
      with jax.set_mesh(placement.mesh()):
        self.check_values(row, jax.jit(function), operands)
        if has_gradients:
          self.check_same(row, function, operands)

  def _mapped(self, placement, **kwargs):
    return jax.shard_map(
        self.case,
        mesh=placement.mesh(),
        in_specs=placement.specs(self.case),
        out_specs=placement.result_specs(self.case),
        **kwargs,
    )

  def test_shard_map_gradient_inside(self):
    for check_vma in (True, False):
      self._check_gradient_inside(placements.GRID, check_vma)

  def _check_gradient_inside(self, placement, check_vma=True):
    if not self.has_derivatives:
      return
    operands = self.case.arrays(shared=placement.shared)
    cotangents = self.case.cotangents(operands)
    function = self._gradient_inside(placement, check_vma)
    row = f"vjp inside shard_map with check_vma={check_vma}, {placement}"
    program = Program(function, operands, cotangents)
    actual = program(operands, cotangents)
    self.compare_vjp(row, actual, operands, cotangents)
    self.check_sums(row, program, placement)

  def _gradient_inside(self, placement, check_vma):
    moving = self.case.differentiable
    shared = placement.shared | self.case.parameters

    def inside(operands, cotangents):
      results, gradients = transforms.vjp(self.case)(operands, cotangents)
      if not check_vma:  # Only with it does JAX know what devices share.
        gradients = [
            jax.lax.psum(x, ("a", "b")) if i in shared else x
            for i, x in zip(moving, gradients)
        ]
      return results, gradients

    specs = placement.specs(self.case)
    results = placement.result_specs(self.case)
    cotangents = placement.cotangent_specs(self.case)
    return jax.shard_map(
        inside,
        mesh=placement.mesh(),
        in_specs=(list(specs), cotangents),
        out_specs=(results, [specs[i] for i in moving]),
        check_vma=check_vma,
    )
