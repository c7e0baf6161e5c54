# SPDX-License-Identifier: Apache-2.0
"""The op that is asked for: the einsum of a signature."""

import dataclasses
import functools

from jax_ffi_ops.kit.declare.signature import Core
from jax_ffi_ops.kit.declare.signature import Signature
import names

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclasses.dataclass(frozen=True)
class Op:
  """An op whose formula is the einsum of its signature.

  Attributes:
    name: see above.
    signature: see above.
  """

  name: str
  signature: Signature

  @property
  def cores(self) -> dict[str, Core]:
    """The core dimensions of operands, by name."""
    return _named("x", self.signature.operands)

  @property
  def results(self) -> dict[str, Core]:
    """Those of results, whose names are the kit's."""
    return _named("y", self.signature.results)

  @functools.cached_property
  def dims(self) -> list[str]:
    return list(dict.fromkeys(d for c in self.signature.operands for d in c))

  def summed(self, result: str) -> list[str]:
    """Returns the dimensions that a result lacks."""
    return [d for d in self.dims if d not in self.results[result]]

  def formula(self, result: str) -> str:
    """Returns "y[m,p] = sum over n of x0[m,n] * x1[n,p]"."""
    own = {**self.cores, result: self.results[result]}
    terms = {n: f"{n}[{','.join(c)}]" if c else n for n, c in own.items()}
    left = terms.pop(result)
    summed = " and ".join(self.summed(result))
    over = f"sum over {summed} of " * bool(summed)
    return f"{left} = {over}{' * '.join(terms.values())}"

  @property
  def formulas(self) -> list[str]:
    return [self.formula(result) for result in self.results]

  def subscripts(self, result: str, loops: str = "") -> str:
    """Returns the einsum of a result: "mn,np->mp"."""
    letters = dict(zip(self.dims, _letters(self.dims)))
    sides = [
        ",".join(loops + "".join(map(letters.get, core)) for core in cores)
        for cores in (self.cores.values(), [self.results[result]])
    ]
    return "->".join(sides)


def _named(base, cores):
  several = len(cores) > 1
  return {f"{base}{i}" if several else base: c for i, c in enumerate(cores)}


def _letters(dims):
  """Yields a letter for each dimension: its name, if that is one."""
  free = [letter for letter in _LETTERS if letter not in dims]
  for dim in dims:
    yield dim if dim in _LETTERS else free.pop(0)


def parse(name: str, signature: str) -> Op:
  """Returns the op; ValueError says what is wrong with which value."""
  names.check_op(name)
  op = Op(name, Signature.parse(signature))
  written = str(op.signature)
  for mark, what in (
      ("?", "operands that calls may leave out"),
      ("*", "trailing loops"),
  ):
    if mark in written:
      raise ValueError(
          f"The scaffold writes no {what}, which {mark!r} in {signature!r} asks"
          " for: begin without, and add them as docs/authoring.md says."
      )
  for core in op.signature.results:
    if len(set(core)) < len(core):
      raise ValueError(
          f"The result ({','.join(core)}) of {signature!r} has a dimension"
          " twice: the scaffold writes an einsum, whose results have each once."
      )
  names.check_dimensions(op.dims, (*op.cores, *op.results), signature)
  if len(op.dims) > len(_LETTERS):
    raise ValueError(
        f"{signature!r} has {len(op.dims)} dimensions: the scaffold's einsum has"
        f" a letter for each, so at most {len(_LETTERS)}."
    )
  return op
