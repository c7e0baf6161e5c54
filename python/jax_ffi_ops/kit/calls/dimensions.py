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
  loops = {}  # operand -> its loop dimensions

  def require(holds, expected):
    if not holds:
      raise ValueError(
          f"{op}: {name} must {expected}, got shape {shape}; the signature is"
          f" {signature}."
      )

  named = dict(zip(names, shapes, strict=True))
  for index, (name, shape) in enumerate(named.items()):
    dims = signature.operands[index]
    require(len(shape) >= len(dims), f"have {len(dims)} axes or more")
    has_loops = len(shape) > len(dims)
    require(not has_loops or name not in parameters, "have no leading axes")
    behind = trailing if has_loops and index in signature.starred else 0
    require(
        len(shape) >= len(dims) + behind, f"have {behind} axes behind its core"
    )
    start = len(shape) - behind - len(dims)
    for dim, size in zip(dims, shape[start:]):
      parts = core_sizes.split(dim)
      if not parts.name:
        require(parts.has(size), f"have size {dim} along a core axis")
        continue
      kind = (
          f"at least {parts.more}"
          if parts.factor == 1
          else f"a multiple of {parts.factor}"
      )
      require(parts.has(size), f"have {kind} as size along {dim!r}")
      base = parts.name
      first, own = sizes.setdefault(base, (name, parts.value(size)))
      expected = core_sizes.size(dim, {base: own})
      like = (
          f"as {first}" if dim == base else f"since {base} is {own} in {first}"
      )
      require(size == expected, f"have size {expected} along {dim!r} {like}")
    if has_loops:
      loops[name] = {"leading": shape[:start]}
      if index in signature.starred:
        loops[name]["trailing"] = shape[start + len(dims) :]

  full = {}  # leading and trailing: the operand that has them first, and these
  for name in sorted(loops, key=lambda name: name in stretched):
    shape = named[name]
    for kind, axes in loops[name].items():
      first, expected = full.setdefault(kind, (name, axes))
      if name in stretched and len(axes) == len(expected):
        axes = tuple(n if own == 1 else own for own, n in zip(axes, expected))
      require(
          axes == expected,
          f"have the {kind} axes {expected} of {first}, or none",
      )
