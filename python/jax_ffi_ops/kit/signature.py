# SPDX-License-Identifier: Apache-2.0
"""Signatures of generalized ufuncs: "(m,n),(n)->(m)", as in NumPy.

The names are core dimensions, the trailing ones of an operand. Whatever leads
is a loop dimension: the op is computed for each of its indices.
"""

from collections.abc import Collection, Sequence
import dataclasses
import re

Shape = tuple[int, ...]  # or symbolic dimensions, under jax.export

_OPERANDS = r"\((?:[^()]*)\)(?:,\((?:[^()]*)\))*"
_SIGNATURE = re.compile(rf"({_OPERANDS})->({_OPERANDS})")


@dataclasses.dataclass(frozen=True)
class Signature:
  """The core dimensions of each operand and result."""

  operands: tuple[tuple[str, ...], ...]
  results: tuple[tuple[str, ...], ...]

  @classmethod
  def parse(cls, text: str) -> "Signature":
    """Returns the signature that `text` says; ValueError if it says none."""
    match = _SIGNATURE.fullmatch(text.replace(" ", ""))
    if match is None:
      raise ValueError(f"{text!r} is not a signature like '(m,n),(n)->(m)'.")
    operands, results = map(_parse_operands, match.groups())
    known = {name for dims in operands for name in dims}
    for name in (name for dims in results for name in dims):
      if name not in known:
        raise ValueError(
            f"The result dimension {name!r} of {text!r} is no operand's."
        )
    return cls(operands, results)

  def __str__(self) -> str:
    return "->".join(
        ",".join(f"({','.join(dims)})" for dims in side)
        for side in (self.operands, self.results)
    )

  def core_sizes(self, shapes: Sequence[Shape]) -> dict[str, int]:
    """Returns the sizes of the core dimensions; operands are checked before."""
    sizes = {}
    for dims, shape in zip(self.operands, shapes, strict=True):
      sizes.update(zip(dims, shape[len(shape) - len(dims) :], strict=True))
    return sizes

  def core_shapes(
      self, sides: Sequence[tuple[str, ...]], shapes: Sequence[Shape]
  ) -> list[Shape]:
    """Returns the core shapes of `sides`, given those of the operands."""
    sizes = self.core_sizes(shapes)
    return [tuple(sizes[name] for name in dims) for dims in sides]

  def loops(self, shapes: Sequence[Shape]) -> list[Shape]:
    """Returns the loop dimensions of each operand."""
    return [
        shape[: len(shape) - len(dims)]
        for dims, shape in zip(self.operands, shapes, strict=True)
    ]

  def check(
      self,
      op: str,
      names: Sequence[str],
      shapes: Sequence[Shape],
      parameters: Collection[str] = (),
  ) -> None:
    """Raises ValueError unless operands of these shapes can be called with.

    All of them have the same loop dimensions, or none; `parameters` have none.
    """
    sizes = {}  # core dimension -> the operand that has it first, and its size
    loops = None
    for name, dims, shape in zip(names, self.operands, shapes, strict=True):

      def require(holds, expected):
        if not holds:
          raise ValueError(
              f"{op}: {name} must {expected}, got shape {shape}; the signature"
              f" is {self}."
          )

      require(len(shape) >= len(dims), f"have {len(dims)} axes or more")
      own = shape[: len(shape) - len(dims)]
      require(not own or name not in parameters, "have no leading axes")
      for dim, size in zip(dims, shape[len(own) :]):
        first, expected = sizes.setdefault(dim, (name, size))
        require(
            size == expected, f"have size {expected} along {dim!r} as {first}"
        )
      if own:
        first, expected = loops = loops or (name, own)
        require(own == expected, f"have the leading axes {expected} of {first}")


def _parse_operands(text):
  sides = tuple(
      tuple(dims.split(",")) if dims else ()
      for dims in re.findall(r"\(([^()]*)\)", text)
  )
  for name in (name for dims in sides for name in dims):
    if not name.isidentifier():
      raise ValueError(f"The dimension {name!r} in {text!r} is not a name.")
  return sides


def broadcast(loops: Sequence[Shape]) -> Shape:
  """Returns the loop dimensions in full, of operands that have all or none.

  An operand has a dimension in full or as 1.
  """
  rank = max(map(len, loops))
  full = [dims for dims in loops if len(dims) == rank]
  return tuple(
      next((size for size in sizes if size != 1), 1) for sizes in zip(*full)
  )
