# SPDX-License-Identifier: Apache-2.0
"""Programs over several devices: automatic, by shard_map, on explicit axes."""

from collections.abc import Sequence
import contextlib
import dataclasses
import math

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import numpy as np

from jax_ffi_ops.kit.testing import devices
from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.base import Base
from jax_ffi_ops.kit.testing.case import LOOPS
from jax_ffi_ops.kit.testing.programs import Program


@dataclasses.dataclass(frozen=True)
class Placement:
  """How the arrays of a call are split over a mesh.

  Attributes:
    axes: names and sizes of the mesh's axes.
    loops: what each loop dimension is split over.
    core: what the last core dimension is split over.
    only_first: whether the other operands are not split.
  """

  axes: tuple[tuple[str, int], ...]
  loops: tuple[str | tuple[str, ...] | None, ...]
  core: str | None = None
  only_first: bool = False

  def mesh(self, kind: AxisType = AxisType.Auto) -> jax.sharding.Mesh:
    return devices.mesh(kind, **dict(self.axes))

  def __str__(self) -> str:
    mesh = ", ".join(f"{name}={size}" for name, size in self.axes)
    of_core = f" and the core over {self.core}" if self.core else ""
    first = ", the first operand alone" if self.only_first else ""
    return f"on a mesh ({mesh}) with loops over {self.loops}{of_core}{first}"

  @property
  def shards(self) -> int:
    """How many parts the loop dimensions are split into."""
    sizes = dict(self.axes)
    names = [
        name
        for entry in self.loops
        for name in ((entry,) if isinstance(entry, str) else entry or ())
    ]
    return math.prod(sizes[name] for name in names)

  def spec(self, core: Sequence[int], has_loops: bool) -> P:
    """Returns the spec of an array with this core shape."""
    entries = [*(self.loops if has_loops else ()), *(None,) * len(core)]
    if self.core and core and core[-1] % dict(self.axes)[self.core] == 0:
      entries[-1] = self.core
    return P(*entries)


_A = (("a", 4),)
_AB = (("a", 4), ("b", 2))

_WHOLE_CORES = (
    Placement(_A, ("a", None)),
    Placement((("a", 8),), ("a", None)),
    Placement(_A, ("a", None), only_first=True),
    Placement(_AB, ("a", "b")),
    Placement(_AB, (("a", "b"), None)),
    Placement(_AB, ("b", None)),
)
_SPLIT_CORES = (
    Placement(_A, (None, None), core="a"),
    Placement(_AB, ("a", None), core="b"),
)


class PartitioningTest(Base):
  """Split loops cost nothing but the sum of what devices share."""

  def _specs(self, placement, shared=frozenset()):
    shared = shared | self.case.parameters
    return tuple(
        P()
        if placement.only_first and index
        else placement.spec(x.core, index not in shared)
        for index, x in enumerate(self.case.operands)
    )

  def _place(self, arrays, specs, mesh):
    return [
        jax.device_put(x, NamedSharding(mesh, spec))
        for x, spec in zip(arrays, specs, strict=True)
    ]

  def _cotangents(self, operands, placement, mesh):
    return [
        jax.device_put(ct, NamedSharding(mesh, P(*placement.loops)))
        for ct in self.case.cotangents(operands)
    ]

  def test_automatic(self):
    for placement in _WHOLE_CORES:
      self._check_placement(f"jit {placement}", placement, AxisType.Auto)

  def test_automatic_with_operands_without_loop_dimensions(self):
    for shared in self.case.shared_sets()[1:]:
      names = [self.case.op.operands[i] for i in shared]
      self._check_placement(
          f"jit {_WHOLE_CORES[0]}, {names} without loops",
          _WHOLE_CORES[0],
          AxisType.Auto,
          shared,
      )

  def test_explicit(self):
    for placement in _WHOLE_CORES:
      if not placement.only_first:
        self._check_placement(
            f"explicit axes {placement}", placement, AxisType.Explicit
        )

  def test_split_core(self):
    for kind in (AxisType.Auto, AxisType.Explicit):
      for placement in _SPLIT_CORES:
        row = f"jit {placement} ({kind})"
        self._check_placement(row, placement, kind)

  def _check_placement(self, row, placement, kind, shared=frozenset()):
    arrays = self.case.arrays(shared=shared)
    specs = self._specs(placement, shared)
    mesh = placement.mesh(kind)
    is_explicit = kind == AxisType.Explicit
    context = jax.set_mesh(mesh) if is_explicit else contextlib.nullcontext()
    with context:
      operands = self._place(arrays, specs, mesh)
      forward = Program(self.case, *operands)
      results = forward(*operands)
    names = self.result_names(results)
    self._compare_forward(row, results, arrays)
    self._check_split(row, names, results, placement, mesh)
    self._check_forward_collectives(row, forward, placement)
    if not self.has_derivatives:
      return
    with context if not is_explicit else jax.set_mesh(mesh):
      cotangents = self._cotangents(arrays, placement, mesh)
      backward = Program(transforms.pull_back(self.case), operands, cotangents)
      actual = backward(operands, cotangents)
    self.check_pull_back(row, actual, arrays, self.case.cotangents(arrays))
    self._check_backward_collectives(row, backward, placement, specs)

  def _compare_forward(self, row, results, arrays):
    avals = self.case.avals(arrays)
    self.compare(
        row,
        transforms.of_operands,
        results,
        [x.dtype for x in avals],
        self.result_names(avals),
        arrays,
    )

  def _check_split(self, row, names, results, placement, mesh):
    wanted = NamedSharding(mesh, P(*placement.loops))
    for name, x in zip(names, results):
      if not x.sharding.is_equivalent_to(wanted, x.ndim):
        self.fail_row(row, f"{name} is split {x.sharding}, not {wanted.spec}")

  def _check_forward_collectives(self, row, program, placement):
    for collective in program.collectives():
      self._check_gather(row, "the forward program", collective, placement)

  def _check_gather(self, row, program, collective, placement):
    if collective.opcode != "all-gather" or not placement.core:
      self.fail_row(row, f"{program} has an {collective.opcode}")
    largest = self.case.terms // placement.shards
    if collective.elements > largest:
      self.fail_row(row, f"{program} gathers a loop dimension")

  def _check_backward_collectives(self, row, program, placement, specs):
    if placement.core and not self.case.op.backward_platforms:
      return  # XLA splits the sums of the reference as it likes.
    row = f"vjp of {row}"
    sums = [x for x in program.collectives() if x.opcode == "all-reduce"]
    summed = [
        i
        for i in self.case.differentiable
        if len(specs[i]) < len(LOOPS) + len(self.case.operands[i].core)
        and placement.shards > 1
    ]
    if placement.only_first:
      summed = [i for i in summed if i in self.case.parameters]
    if len(sums) > len(summed) or bool(sums) != bool(summed):
      self.fail_row(
          row,
          f"the program has {len(sums)} all-reduces for the gradients of"
          f" {len(summed)} operands that all devices share",
      )
    for collective in program.collectives():
      if collective.opcode != "all-reduce":
        self._check_gather(row, "the program", collective, placement)

  def test_eager(self):
    placement = _WHOLE_CORES[3]
    arrays = self.case.arrays()
    mesh = placement.mesh()
    operands = self._place(arrays, self._specs(placement), mesh)
    self._compare_forward(
        f"an eager call {placement}", self.case(*operands), arrays
    )

  def test_reshaped(self):
    """A loop dimension may be split over a part of a mesh axis."""
    placement = _WHOLE_CORES[1]
    arrays = self.case.arrays()
    split = self._place(arrays, self._specs(placement), placement.mesh())

    def function(*operands):
      reshaped = [
          x if i in self.case.parameters else x.reshape(2, 24, *x.shape[2:])
          for i, x in enumerate(operands)
      ]
      return tuple(x.reshape(8, 6, *x.shape[2:]) for x in self.case(*reshaped))

    row = f"jit of a call with reshaped operands, {placement}"
    program = Program(function, *split)
    self._compare_forward(row, program(*split), arrays)
    self._check_forward_collectives(row, program, placement)

  def test_set_mesh_with_operands_off_the_mesh(self):
    with jax.set_mesh(_WHOLE_CORES[3].mesh()):
      self.check_same("jit under jax.set_mesh", self.case)
      self.check_same(
          "jit under jax.set_mesh with a constraint",
          self._constrained(P("a", "b")),
      )

  def test_uneven_shards(self):
    split = self._constrained(P(None, "a"))

    def function(*operands):
      # jax 0.9.2 can neither take nor return uneven shards.
      whole = jax.lax.with_sharding_constraint(operands, P())
      return jax.lax.with_sharding_constraint(split(*whole), P())

    with jax.set_mesh(_WHOLE_CORES[0].mesh()):
      self.check_same("jit with 6 rows on 4 devices", function)

  def _constrained(self, spec):
    def function(*operands):
      return self.case(
          *(
              x
              if i in self.case.parameters
              else jax.lax.with_sharding_constraint(x, spec)
              for i, x in enumerate(operands)
          )
      )

    return function

  def test_gradient_per_example(self):
    if not self.has_derivatives:
      return
    placement = _WHOLE_CORES[0]
    mesh = placement.mesh()
    examples = [self.case.arrays((6,), seed=20 * i) for i in range(LOOPS[0])]
    arrays = [np.stack(x) for x in zip(*examples)]
    stacked = [
        np.stack(x) for x in zip(*(self.case.cotangents(x) for x in examples))
    ]
    split = NamedSharding(mesh, P("a"))
    args = jax.device_put((arrays, stacked), split)
    program = Program(jax.vmap(transforms.pull_back(self.case)), *args)
    row = f"vmap of vjp {placement}"
    self.compare(
        row,
        lambda f: jax.vmap(transforms.pull_back(f)),
        program(*args),
        *self.describe(arrays),
        arrays,
        stacked,
    )
    if program.collectives():
      self.fail_row(row, f"the program has {program.collectives()}")

  def test_shard_map(self):
    placement = _WHOLE_CORES[3]
    for check_vma in (True, False):
      row = f"shard_map with check_vma={check_vma} {placement}"
      function = self._shard_mapped(placement, check_vma=check_vma)
      self.check_same(row, function)
      arrays = self.case.arrays()
      self.check_values(f"an eager {row}", function, arrays)
      program = Program(function, *arrays)
      for collective in program.collectives():
        self._check_gather(row, "the forward program", collective, placement)

  def test_shard_map_over_some_axes(self):
    placement = Placement(_AB, ("a", None))
    function = self._shard_mapped(placement, axis_names={"a"})
    with jax.set_mesh(placement.mesh()):
      self.check_same(f"shard_map over a alone {placement}", function)

  def _shard_mapped(self, placement, **kwargs):
    return jax.shard_map(
        self.case,
        mesh=placement.mesh(),
        in_specs=self._specs(placement),
        out_specs=P(*placement.loops),
        **kwargs,
    )

  def test_gradient_inside_shard_map(self):
    if not self.has_derivatives:
      return
    placement = _WHOLE_CORES[3]
    arrays = self.case.arrays()
    cotangents = self.case.cotangents(arrays)
    specs = self._specs(placement)
    moving = self.case.differentiable
    for check_vma in (True, False):

      def inside(operands, cotangents):
        results, gradients = transforms.pull_back(self.case)(
            operands, cotangents
        )
        if not check_vma:  # Only with it does JAX know what devices share.
          gradients = [
              jax.lax.psum(x, ("a", "b")) if i in self.case.parameters else x
              for i, x in zip(moving, gradients)
          ]
        return results, gradients

      function = jax.shard_map(
          inside,
          mesh=placement.mesh(),
          in_specs=(list(specs), P(*placement.loops)),
          out_specs=(P(*placement.loops), [specs[i] for i in moving]),
          check_vma=check_vma,
      )
      self.check_pull_back(
          f"vjp inside shard_map with check_vma={check_vma} {placement}",
          jax.jit(function)(arrays, cotangents),
          arrays,
          cotangents,
      )
