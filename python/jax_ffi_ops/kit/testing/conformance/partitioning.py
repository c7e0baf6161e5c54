# SPDX-License-Identifier: Apache-2.0
"""Programs that are split over devices: automatically, or by explicit axes."""

from collections.abc import Callable
import contextlib
import dataclasses
from typing import Any

import jax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np

from jax_ffi_ops.kit.testing.cases import placements
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.case import LOOPS
from jax_ffi_ops.kit.testing.cases.placements import Placement
from jax_ffi_ops.kit.testing.cases.programs import Program
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.conformance.communication import CommunicationBase


class PartitioningTest(CommunicationBase):
  """Split loops cost nothing but the sums of what all devices share."""

  def test_partitioned_automatically(self):
    for placement in placements.WHOLE_CORES:
      self._check(placement)

  def test_partitioned_explicitly(self):
    for placement in placements.explicit(placements.WHOLE_CORES):
      self._check(placement)

  def test_partitioned_explicitly_where_jax_is_faster(self):
    """The reference has to work there, too."""
    if self.case.op.choice.is_faster is None:
      return
    self.at_any_speed.close()
    for placement in placements.explicit(
        (placements.LINE, *placements.SPLIT_CORES)
    ):
      self._check(placement)

  if THOROUGH:

    def test_partitioned_over_more_meshes(self):
      more = placements.MORE_WHOLE_CORES + placements.MORE_SPLIT_CORES
      for placement in (*more, *placements.explicit(more)):
        self._check(placement)

  def test_partitioned_core(self):
    for placement in placements.SPLIT_CORES:
      self._check(placement)

  def test_partitioned_core_explicitly(self):
    for placement in placements.explicit(placements.SPLIT_CORES):
      self._check(placement)

  def test_partitioned_first_operand(self):
    self._check(dataclasses.replace(placements.LINE, only_first=True))

  def test_partitioned_without_loops(self):
    line = placements.LINE
    for placement in (*[line] * THOROUGH, *placements.explicit([line])):
      for shared in self.case.shared_sets()[1:]:
        self._check(dataclasses.replace(placement, shared=shared))

  def test_partitioned_without_set_mesh(self):
    (placement,) = placements.explicit([placements.GRID])
    self._check(placement, set_mesh=False)

  def test_partitioned_vmap(self):
    line = placements.LINE
    lines = (*[line] * THOROUGH, *placements.explicit([line]))
    axes = tuple(
        None if i in self.case.parameters else 0
        for i in range(len(self.case.operands))
    )
    for placement in lines:
      self._check(placement, jax.vmap(self.case, axes), "vmap, ")

  def _check(
      self,
      placement: Placement,
      function: Callable[..., Any] | None = None,
      what: str = "",
      set_mesh: bool = True,
  ):
    """Checks programs of a function that is the op."""
    row = f"jit, {what}{placement}"
    function = function or self.case
    arrays = self.case.arrays(shared=placement.shared)
    mesh = contextlib.nullcontext
    if placement.kind == jax.sharding.AxisType.Explicit and set_mesh:
      mesh = lambda: jax.set_mesh(placement.mesh())
    with mesh():
      operands = placement.place(arrays, placement.specs(self.case))
      program = Program(function, *operands)
      results = program(*operands)
    self.compare_values(row, results, arrays)
    self._check_result_shardings(row, results, arrays, placement)
    self.check_no_loop_gathered(row, program, placement)
    if not self.has_derivatives:
      return
    row = f"vjp and {row}"
    cotangents = self.case.cotangents(arrays)
    with mesh():
      specs = placement.cotangent_specs(self.case)
      placed = placement.place(cotangents, specs)
      program = Program(transforms.vjp(function), operands, placed)
      actual = program(operands, placed)
    self.compare_vjp(row, actual, arrays, cotangents)
    self.check_sums(row, program, placement)

  def _check_result_shardings(self, row, results, arrays, placement):
    for label, x, spec in zip(
        self.result_labels(arrays), results, placement.result_specs(self.case)
    ):
      wanted = NamedSharding(placement.mesh(), spec)
      if not x.sharding.is_equivalent_to(wanted, x.ndim):
        self.fail_row(row, f"{label.name} is split {x.sharding}, not {wanted}")

  def test_partitioned_eagerly(self):
    for placement in (placements.GRID, *placements.explicit([placements.GRID])):
      arrays = self.case.arrays()
      operands = placement.place(arrays, placement.specs(self.case))
      row = f"an eager call, {placement}"
      self.compare_values(row, self.case(*operands), arrays)

  def test_partitioned_after_reshape(self):
    """A loop dimension may be split over a part of a mesh axis."""
    placement = placements.LONG_LINE
    arrays = self.case.arrays()
    operands = placement.place(arrays, placement.specs(self.case))

    def function(*operands):
      reshaped = [
          x if i in self.case.parameters else x.reshape(2, 4, *x.shape[1:])
          for i, x in enumerate(operands)
      ]
      return tuple(
          x.reshape(LOOPS[0], *x.shape[2:]) for x in self.case(*reshaped)
      )

    row = f"jit, reshaped operands, {placement}"
    program = Program(function, *operands)
    self.compare_values(row, program(*operands), arrays)
    self.check_no_loop_gathered(row, program, placement)

  def test_partitioned_from_off_the_mesh(self):
    grid = placements.GRID
    for placement in (*placements.explicit([grid]), *[grid] * THOROUGH):
      with jax.set_mesh(placement.mesh()):
        self.check_same(f"jit and jax.set_mesh, {placement}", self.case)
    with jax.set_mesh(placements.GRID.mesh()):
      self.check_same(
          "jit and jax.set_mesh with a constraint",
          self._constrained("a", "b"),
      )

  def test_partitioned_unevenly(self):
    split = self._constrained(None, "a")

    def function(*operands):
      # jax 0.9.2 can neither take nor return uneven shards.
      whole = jax.lax.with_sharding_constraint(operands, P())
      return jax.lax.with_sharding_constraint(split(*whole), P())

    with jax.set_mesh(placements.LINE.mesh()):
      self.check_same("jit with 6 rows on 4 devices", function)

  def _constrained(self, *loops):
    def constrain(index, x):
      if index in self.case.parameters:
        return x
      core = (None,) * len(self.case.operands[index].core)
      spec = P(*self.case.shape(loops, core))
      return jax.lax.with_sharding_constraint(x, spec)

    def function(*operands):
      return self.case(*map(constrain, range(len(operands)), operands))

    return function

  def test_partitioned_gradient_per_example(self):
    if not self.has_derivatives:
      return
    examples = [self.case.arrays((6,), seed=20 * i) for i in range(LOOPS[0])]
    arrays = [np.stack(x) for x in zip(*examples)]
    cotangents = [
        np.stack(x) for x in zip(*(self.case.cotangents(x) for x in examples))
    ]
    split = NamedSharding(placements.LINE.mesh(), P("a"))
    args = jax.device_put((arrays, cotangents), split)
    program = Program(jax.vmap(transforms.vjp(self.case)), *args)
    expected = [
        self.case.oracle(transforms.vjp, x, list(ct))
        for x, ct in zip(examples, zip(*cotangents))
    ]
    row = f"vmap of vjp and jit, {placements.LINE}"
    self.compare(
        row,
        program(*args),
        [np.stack(x) for x in zip(*expected)],
        self.result_labels(examples[0]) + self.gradient_labels(examples[0]),
    )
    self.check_no_loop_gathered(row, program, placements.LINE)
