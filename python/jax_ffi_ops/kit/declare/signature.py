# SPDX-License-Identifier: Apache-2.0
"""Signatures of generalized ufuncs: "(m,n),(n)?->(m)", nearly as in NumPy.

The names are core dimensions, the last ones of an operand. Whatever leads is a
loop dimension: the op is computed for each of its indices. As in NumPy, a number
is a dimension of that size: "(3),(3)->(3)". Here "2h" is one of twice the size of
h, "h+1" one that is longer by 1. "?" marks an operand that may be left out, and
"*" says that loop dimensions may also trail: with "(n,*)->(n,*)" the core
dimension may be any axis.
"""

from collections.abc import Collection, Sequence
import dataclasses
import re

from jax_ffi_ops.kit.declare import sizes

_OPERANDS = r"\([^()]*\)\??(?:,\([^()]*\)\??)*"
_RESULTS = r"\([^()]*\)(?:,\([^()]*\))*"
_SIGNATURE = re.compile(rf"({_OPERANDS})->({_RESULTS})")

Core = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Signature:
  """The core dimensions of each operand and result.

  Attributes:
    operands: see above.
    results: see above.
    optional: which operands may be left out.
    starred: which operands have the trailing loops; all results do, if any.
  """

  operands: tuple[Core, ...]
  results: tuple[Core, ...]
  optional: frozenset[int] = frozenset()
  starred: frozenset[int] = frozenset()

  @classmethod
  def parse(cls, text: str, known: Collection[str] = ()) -> "Signature":
    """Returns the signature that `text` says; ValueError if it says none.

    Args:
      text: such as "(m,n),(n)->(m)".
      known: names of dimensions that results may have, and no operand.
    """
    match = _SIGNATURE.fullmatch(text.replace(" ", ""))
    if match is None:
      raise ValueError(f"{text!r} is not a signature like '(m,n),(n)->(m)'.")
    operands, results = map(_parse_side, match.groups())
    given = sizes.names(core for core, _, optional in operands if not optional)
    for name in sizes.names(core for core, _, _ in results):
      if name not in (*given, *known):
        raise ValueError(
            f"Nothing gives the size of the result dimension {name!r} of"
            f" {text!r}: no operand that all calls have, no attribute of type"
            " np.int64, and no function in `Results.sizes`."
        )
    starred = frozenset(i for i, x in enumerate(operands) if x[1])
    if any(x[1] != bool(starred) for x in results):
      raise ValueError(f"{text!r} must have '*' in all results or nowhere.")
    if starred and not any(operands[i][0] for i in starred):
      raise ValueError(f"{text!r} has no core dimension before a '*'.")
    return cls(
        tuple(core for core, _, _ in operands),
        tuple(core for core, _, _ in results),
        frozenset(i for i, x in enumerate(operands) if x[2]),
        starred,
    )

  @property
  def names(self) -> tuple[str, ...]:
    """The names of the operands' core dimensions."""
    return sizes.names(self.operands)

  @property
  def result_names(self) -> frozenset[str]:
    """The names of dimensions that results alone have."""
    return frozenset(sizes.names(self.results)).difference(self.names)

  def __str__(self) -> str:
    operands = (
        _write(core, i in self.starred) + "?" * (i in self.optional)
        for i, core in enumerate(self.operands)
    )
    results = (_write(core, bool(self.starred)) for core in self.results)
    return f"{','.join(operands)}->{','.join(results)}"

  def only(self, indices: Sequence[int]) -> "Signature":
    """Returns the signature with these operands, none of them optional."""
    return Signature(
        tuple(self.operands[i] for i in indices),
        self.results,
        starred=frozenset(
            new for new, i in enumerate(indices) if i in self.starred
        ),
    )


def _write(core, starred):
  return f"({','.join([*core, *'*' * starred])})"


def _parse_side(text):
  """Returns core dimensions, whether there is a "*", and whether a "?"."""
  side = []
  for dims, optional in re.findall(r"\(([^()]*)\)(\??)", text):
    core = dims.split(",") if dims else []
    starred = core[-1:] == ["*"]
    core = tuple(core[: len(core) - starred])
    for dim in core:
      if not sizes.is_dimension(dim):
        raise ValueError(
            f"The dimension {dim!r} in {text!r} is no name such as n, nothing"
            " in terms of one such as 2n or n+1, and no number."
        )
    side.append((core, starred, bool(optional)))
  return side
