# SPDX-License-Identifier: Apache-2.0
"""Meshes, and how the arrays of a call are split over them."""

from collections.abc import Sequence
import dataclasses
import math

import jax
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases.case import Case

_Axes = str | tuple[str, ...] | None


@dataclasses.dataclass(frozen=True)
class Placement:
  """How the arrays of a call are split over a mesh.

  Attributes:
    mesh_axes: the names and sizes of the mesh's axes.
    loops: what each loop dimension is split over.
    core: what the last core dimensions are split over.
    kind: of the mesh's axes.
    only_first: whether only the first operand is split.
    shared: operands without loop dimensions.
  """

  mesh_axes: tuple[tuple[str, int], ...]
  loops: tuple[_Axes, _Axes]
  core: str | None = None
  kind: AxisType = AxisType.Auto
  only_first: bool = False
  shared: frozenset[int] = frozenset()

  def __str__(self) -> str:
    mesh = ", ".join(f"{name}={size}" for name, size in self.mesh_axes)
    text = f"{self.kind.name} mesh ({mesh}), loops over {self.loops}"
    if self.core:
      text += f", cores over {self.core!r}"
    if self.only_first:
      text += ", of the first operand alone"
    if self.shared:
      text += f", operands {sorted(self.shared)} without loops"
    return text

  def mesh(self) -> jax.sharding.Mesh:
    return devices.mesh(self.kind, **dict(self.mesh_axes))

  @property
  def shards(self) -> int:
    """How many parts the loop dimensions are split into."""
    sizes = dict(self.mesh_axes)
    entries = [(x,) if isinstance(x, str) else x or () for x in self.loops]
    return math.prod(sizes[name] for names in entries for name in names)

  def specs(self, case: Case) -> tuple[P, ...]:
    """Returns how the operands are split."""
    without_loops = self.shared | case.parameters
    return tuple(
        P()
        if self.only_first and index
        else self._spec(case, x.core, index not in without_loops)
        for index, x in enumerate(case.operands)
    )

  def _spec(
      self,
      case: Case,
      core: Sequence[int],
      has_loops: bool = True,
      is_split: bool = True,
  ) -> P:
    cores = [None] * len(core)
    if is_split and self._splits(core):
      cores[-1] = self.core
    return P(*case.shape(self.loops if has_loops else (), cores))

  def _splits(self, core: Sequence[int]) -> bool:
    size = dict(self.mesh_axes).get(self.core)
    return bool(size and core) and core[-1] % size == 0

  @property
  def pieces(self) -> int:
    """How many parts a core is split into."""
    return dict(self.mesh_axes)[self.core] if self.core else 1

  def result_specs(self, case: Case) -> tuple[P, ...]:
    """Returns how the results are split: their cores, if the op can do it."""
    split = case.op.split
    return tuple(
        self._spec(
            case, x.shape, is_split=split and names[-1:] == (split.dimension,)
        )
        for x, names in zip(case.result_cores, case.op.signature.results)
    )

  def cotangent_specs(self, case: Case) -> list[P]:
    """Returns how the cotangents are split."""
    return [
        spec
        for spec, x in zip(self.result_specs(case), case.result_cores)
        if case.op.is_differentiable(x.dtype)
    ]

  def place(self, arrays: Sequence, specs: Sequence[P]) -> list[jax.Array]:
    mesh = self.mesh()
    return [
        jax.device_put(x, NamedSharding(mesh, spec))
        for x, spec in zip(arrays, specs, strict=True)
    ]


_A = (("a", 4),)
_AB = (("a", 4), ("b", 2))

LINE = Placement(_A, ("a", None))
LONG_LINE = Placement((("a", 8),), ("a", None))
GRID = Placement(_AB, ("a", "b"))

WHOLE_CORES = (
    LINE,
    GRID,
    # The types of explicit axes name those of one device, too.
    Placement((("a", 1), ("b", 2)), ("a", "b")),
)
MORE_WHOLE_CORES = (
    LONG_LINE,
    Placement((("a", 2), ("b", 2)), ("a", "b")),
    Placement(_AB, (("a", "b"), None)),
    Placement(_AB, ("b", None)),
    Placement((("a", 1),), ("a", None)),
)
SPLIT_CORES = (Placement(_AB, ("a", None), core="b"),)
MORE_SPLIT_CORES = (Placement(_A, (None, None), core="a"),)


def explicit(placements: Sequence[Placement]) -> list[Placement]:
  return [dataclasses.replace(p, kind=AxisType.Explicit) for p in placements]
