# SPDX-License-Identifier: Apache-2.0
"""The axes of the arrays of one call: leading loops, cores, trailing loops."""

from collections.abc import Collection, Mapping, Sequence
import dataclasses
import functools
from typing import NamedTuple

from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.declare.signature import Core
from jax_ffi_ops.kit.declare.signature import Signature

Shape = tuple[int, ...]  # or symbolic dimensions, under jax.export


class Parts(NamedTuple):
  """The shape of an array, in three parts."""

  leading: Shape
  core: Shape
  trailing: Shape

  @property
  def shape(self) -> Shape:
    return (*self.leading, *self.core, *self.trailing)

  @property
  def rank(self) -> int:
    """The number of loop dimensions."""
    return len(self.leading) + len(self.trailing)


@dataclasses.dataclass(frozen=True)
class Dimensions:
  """The dimensions of a call.

  An array has each loop dimension in full or as 1, or it has none of them, or,
  in a backward call, just the first of the leading ones.

  Attributes:
    arrays: the shapes of its arrays.
    leading: the leading loop dimensions, in full.
    trailing: the trailing loop dimensions, in full.
    sizes: of the names of core dimensions.
  """

  arrays: list[Parts]
  leading: Shape
  trailing: Shape
  sizes: Mapping[str, int]

  @classmethod
  @functools.lru_cache(maxsize=4096)
  def of(
      cls,
      shapes: tuple[Shape, ...],
      cores: tuple[Core, ...],
      starred: tuple[bool, ...],
      trailing_rank: int,
  ) -> "Dimensions":
    """Returns the dimensions of arrays with these shapes and cores."""
    ranks = [len(s) - len(core) for s, core in zip(shapes, cores, strict=True)]
    most = max((r for r, star in zip(ranks, starred) if star), default=0)
    arrays, sizes = [], {}
    for shape, core, rank, star in zip(shapes, cores, ranks, starred):
      end = len(shape)
      if star and rank == most > 0:
        end -= trailing_rank
      start = end - len(core)
      arrays.append(Parts(shape[:start], shape[start:end], shape[end:]))
      sizes |= core_sizes.solve(core, shape[start:end])
    return cls._of_parts(arrays, sizes)

  @classmethod
  def _of_parts(cls, arrays, sizes):
    return cls(
        arrays,
        _broadcast([x.leading for x in arrays]),
        _broadcast([x.trailing for x in arrays]),
        sizes,
    )

  def only(self, indices: Sequence[int]) -> "Dimensions":
    """Returns the dimensions of some of the arrays."""
    return self._of_parts([self.arrays[i] for i in indices], self.sizes)

  @property
  def rank(self) -> int:
    """The number of loop dimensions."""
    return len(self.leading) + len(self.trailing)

  def all_full(self, starred: Sequence[bool]) -> list[Parts]:
    """Returns the shapes of the arrays with all loop dimensions."""
    return [self.full(x.core, s) for x, s in zip(self.arrays, starred)]

  def full(self, core: Shape, starred: bool = True) -> Parts:
    """Returns the shape of an array with all loop dimensions."""
    return Parts(self.leading, core, self.trailing if starred else ())


def _broadcast(loops):
  rank = max(map(len, loops), default=0)
  if not rank:
    return ()
  padded = [(*own, *(1,) * (rank - len(own))) for own in loops]
  return tuple(
      next((size for size in sizes if size != 1), 1) for sizes in zip(*padded)
  )


def trailing_rank(
    op: str,
    signature: Signature,
    names: Sequence[str],
    shapes: Sequence[Shape],
    axis: int,
) -> int:
  """Returns how many axes are behind `axis`, the last one of the core.

  Raises:
    ValueError: `axis` is none of the operand with the most axes.
  """
  candidates = [i for i in signature.starred if signature.operands[i]]
  first = max(
      sorted(candidates, reverse=True),
      key=lambda i: len(shapes[i]) - len(signature.operands[i]),
  )
  rank, core = len(shapes[first]), len(signature.operands[first])
  least = core - 1
  if not (least <= axis < rank or least - rank <= axis < 0):
    raise ValueError(
        f"{op}: axis must be {least} to {rank - 1} or {least - rank} to -1, got"
        f" {axis} for {names[first]} of shape {shapes[first]}."
    )
  return rank - 1 - axis if axis >= 0 else -1 - axis


class _Operand(NamedTuple):
  """An operand whose shape is checked."""

  op: str
  name: str
  shape: Shape
  signature: Signature

  def require(self, holds: bool, expected: str) -> None:
    """Raises ValueError that says what is expected, unless it holds."""
    if not holds:
      raise ValueError(
          f"{self.op}: {self.name} must {expected}, got shape {self.shape}; the"
          f" signature is {self.signature}."
      )


def check(
    op: str,
    signature: Signature,
    names: Sequence[str],
    shapes: Sequence[Shape],
    parameters: Collection[str] = (),
    trailing: int = 0,
    stretched: Collection[str] = (),
) -> None:
  """Raises ValueError unless operands of these shapes can be called with.

  All of them have the same loop dimensions, or none; `parameters` have none,
  and some of those of `stretched` may be 1.
  """
  sizes = {}  # core dimension -> the operand that has it first, and its size
  loops = []  # operands with loops, and what these are
  for index, (name, shape) in enumerate(zip(names, shapes, strict=True)):
    dims = signature.operands[index]
    operand = _Operand(op, name, shape, signature)
    require = operand.require
    require(len(shape) >= len(dims), f"have {len(dims)} axes or more")
    has_loops = len(shape) > len(dims)
    require(not has_loops or name not in parameters, "have no leading axes")
    has_trailing = has_loops and index in signature.starred
    behind = trailing if has_trailing else 0
    require(
        len(shape) >= len(dims) + behind, f"have {behind} axes behind its core"
    )
    end = len(shape) - behind
    start = end - len(dims)
    _check_core(operand, dims, shape[start:end], sizes)
    if has_loops:
      own = {"leading": shape[:start]}
      if has_trailing:
        own["trailing"] = shape[end:]
      loops.append((operand, own))
  _check_loops(loops, stretched)


def _check_core(operand, dims, shape, sizes):
  """Checks a core; `sizes` are those of the operands before, and get its own."""
  for dim, size in zip(dims, shape):
    parts = core_sizes.parse(dim)
    if not parts.name:
      operand.require(parts.has(size), f"have size {dim} along a core axis")
      continue
    kind = (
        f"at least {parts.more}"
        if parts.factor == 1
        else f"a multiple of {parts.factor}"
    )
    operand.require(parts.has(size), f"have {kind} as size along {dim!r}")
    base = parts.name
    first, own = sizes.setdefault(base, (operand.name, parts.value(size)))
    expected = core_sizes.size(dim, {base: own})
    like = f"as {first}" if dim == base else f"since {base} is {own} in {first}"
    operand.require(
        size == expected, f"have size {expected} along {dim!r} {like}"
    )


def _check_loops(loops, stretched):
  """Checks that all loops are the same, or 1 where they may be."""
  full = {}  # leading and trailing: the operand that has them first, and these
  for operand, own in sorted(loops, key=lambda x: x[0].name in stretched):
    for kind, axes in own.items():
      first, expected = full.setdefault(kind, (operand.name, axes))
      if operand.name in stretched and len(axes) == len(expected):
        axes = tuple(n if x == 1 else x for x, n in zip(axes, expected))
      operand.require(
          axes == expected,
          f"have the {kind} axes {expected} of {first}, or none",
      )
