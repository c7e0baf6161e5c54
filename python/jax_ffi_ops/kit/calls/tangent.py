# SPDX-License-Identifier: Apache-2.0
"""The tangent call: kept operands and results, and tangents of operands."""

from collections.abc import Sequence
import dataclasses
from typing import Any

from jax_ffi_ops.kit.calls.base import ArrayType
from jax_ffi_ops.kit.calls.base import Call
from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.declaration import Declaration


@dataclasses.dataclass(frozen=True, repr=False)
class TangentCall(Call):
  """A call of the primitive that stands for the tangents of an op.

  Attributes:
    forward: the call of the op.
    active: which of its operands have a tangent.
  """

  forward: ForwardCall
  active: tuple[bool, ...]

  def __repr__(self):
    tangents = self.names[len(self.kept) :]
    return f"({', '.join([*self.forward.description, *tangents])})"

  @property
  def op(self) -> Declaration:
    return self.forward.op

  @property
  def moving(self) -> tuple[str, ...]:
    """The operands that have a tangent."""
    return tuple(n for n, a in zip(self.op.operands, self.active) if a)

  @property
  def kept(self) -> tuple[str, ...]:
    """The operands and results that the call has beside tangents."""
    op = self.op
    dropped = set(self.moving).difference(op.kept_for_jvp)
    operands = [name for name in op.operands if name not in dropped]
    results = [name for name in op.kept_for_jvp if name not in op.operands]
    return (*operands, *results)

  @property
  def names(self) -> tuple[str, ...]:
    return (*self.kept, *(name + "_dot" for name in self.moving))

  @property
  def target(self) -> str:
    return self.op.forward_target

  @property
  def splits_core(self) -> bool:
    op = self.op
    if op.split is None:
      return False
    # Else it is the transpose of the backward pass.
    return op.keeps_operands or op.split.backward is not None

  def like(self, result: str) -> str:
    return result.removesuffix("_dot")

  def operands(self, arrays: Sequence[Any]) -> list[Any]:
    """Returns the operands of the op; in place of a dropped one its tangent.

    The two have the same type.
    """
    named = self.named(arrays)
    return [named.get(n, named.get(n + "_dot")) for n in self.op.operands]

  def dimensions(self, arrays: Sequence[Any]) -> Dimensions:
    return self.forward.dimensions_of(self.named(arrays))

  def results(self, arrays: Sequence[Any]) -> dict[str, ArrayType]:
    found = self.forward.moving_results(self.operands(arrays))
    return {name + "_dot": x for name, x in found.items()}
