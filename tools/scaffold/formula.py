# SPDX-License-Identifier: Apache-2.0
"""The formula that an op begins with: the einsum of its signature."""

from collections.abc import Sequence
import itertools
import string

from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.declare.signature import Signature

# Of dimensions in tests, which are not to be taken for each other.
_SIZES = (8, 4, 6, 5, 3, 7)


class Formula:
  """An einsum.

  Attributes:
    signature: of the op.
    operands: the core dimensions of each: of x, or of x0, x1 and so on.
    results: likewise, of y, or of y0, y1 and so on.
    arrays: both.
    dims: all of the operands' core dimensions.
  """

  def __init__(self, text: str):
    """Takes a signature; ValueError says why it has no einsum."""
    self.signature = Signature.parse(text)
    self.operands = _named("x", self.signature.operands)
    self.results = _named("y", self.signature.results)
    self.arrays = self.operands | self.results
    self.dims = list(dict.fromkeys(itertools.chain(*self.operands.values())))
    self._check(text)

  def _check(self, text):
    for core in self.arrays.values():
      for dim in core:
        base = core_sizes.split(dim).name
        if base not in ("", dim):
          raise ValueError(
              f"The scaffold cannot write the multiple {dim!r}: begin with a"
              " name in its place, and edit what it writes as"
              " docs/authoring.md says."
          )
        if not dim.isascii() or not (dim.isidentifier() or dim.isdecimal()):
          raise ValueError(
              f"The scaffold knows names in ASCII and sizes, but {text!r} has"
              f" the dimension {dim!r}: begin without, and edit what it writes."
          )
    for mark, what in ("?", "operands to leave out"), ("*", "trailing loops"):
      if mark in str(self.signature):
        raise ValueError(
            f"The scaffold writes no {what}, which {mark!r} in {text!r} asks"
            " for: begin without, and add them as docs/authoring.md says."
        )
    for core in self.results.values():
      if len(set(core)) < len(core) or not set(core) <= set(self.dims):
        raise ValueError(
            f"The scaffold writes an einsum, but {text!r} has the result"
            f" ({','.join(core)}), with a dimension twice, or of no operand."
        )
    if len(self.dims) > len(string.ascii_letters):
      raise ValueError(f"{text!r} has more dimensions than einsum has letters.")

  def summed(self, result: str) -> list[str]:
    return [dim for dim in self.dims if dim not in self.results[result]]

  def in_words(self) -> list[str]:
    """Returns "y[m] = sum over n of x0[m,n] * x1[n]" for each result."""
    written = {
        name: f"{name}[{','.join(core)}]" if core else name
        for name, core in self.arrays.items()
    }
    product = " * ".join(written[x] for x in self.operands)
    lines = []
    for y in self.results:
      summed = " and ".join(self.summed(y))
      lines.append(
          f"{written[y]} = {f'sum over {summed} of ' * bool(summed)}{product}"
      )
    return lines

  def subscripts(self, result: str, loops: str = "") -> str:
    """Returns "mn,n->m", with "..." for `loops` "...mn,...n->...m"."""
    named = all(len(dim) == 1 and dim.isalpha() for dim in self.dims)
    letters = self.dims if named else string.ascii_letters
    letter_of = dict(zip(self.dims, letters))
    *operands, result = (
        loops + "".join(letter_of[dim] for dim in core)
        for core in (*self.operands.values(), self.results[result])
    )
    return f"{','.join(operands)}->{result}"

  def case(self) -> str:
    """Returns the operands of the test."""
    sizes = dict(zip(self.dims, itertools.cycle(_SIZES)))
    sizes |= {dim: int(dim) for dim in self.dims if dim.isdecimal()}
    cores = (tuple(sizes[d] for d in core) for core in self.operands.values())
    return ", ".join(f"Operand({core})" for core in cores)


def _named(
    base: str, cores: Sequence[tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
  several = len(cores) > 1
  return {f"{base}{i}" if several else base: c for i, c in enumerate(cores)}
