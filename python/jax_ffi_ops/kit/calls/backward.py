# SPDX-License-Identifier: Apache-2.0
"""The backward call: which loop dimensions it keeps and which it sums over.

A backward handler receives kept operands, residuals and cotangents with the
leading dimensions [loops..., rows...]; `batch_rank` of these are loops. An
operand that rows share has just [loops...], and its cotangent is the sum over
the rows. So the gradient of a weight is one call, not a batch of gradients.
Trailing loops are rows too.
"""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_ffi_ops.kit.calls import choice
from jax_ffi_ops.kit.calls import workspaces
from jax_ffi_ops.kit.calls.base import ArrayType
from jax_ffi_ops.kit.calls.base import HandlerCall
from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.declaration import Declaration


class Dropped(NamedTuple):
  """An operand of the op that is not kept."""

  name: str
  dtype: Any
  is_shared: bool  # by the rows


@dataclasses.dataclass(frozen=True, repr=False)
class BackwardCall(HandlerCall):
  """A call of the primitive that stands for the backward handler.

  Attributes:
    forward: the call of the op.
    batch_rank: the number of leading dimensions that are loops.
    outputs: the results that have a cotangent.
    dropped: the operands that are not kept.
    sizes: the core dimensions that only dropped operands have.
    transposed: whether it returns the cotangents alone of the operands in which
      the op is linear, by `transpose=`.
    unwanted: the operands whose cotangents it does not return.
  """

  forward: ForwardCall
  batch_rank: int
  outputs: tuple[str, ...]
  dropped: tuple[Dropped, ...] = ()
  sizes: tuple[tuple[str, int], ...] = ()
  transposed: bool = False
  unwanted: tuple[str, ...] = ()

  def __repr__(self):
    own = [f"{x.name}:{x.dtype}" for x in self.dropped]
    own += [f"batch_rank={self.batch_rank}"] + ["transposed"] * self.transposed
    own += ["no d" + name for name in self.unwanted]
    cotangents = self.names[len(self.kept) :]
    return f"({', '.join([*self.forward.description, *cotangents, *own])})"

  @property
  def op(self) -> Declaration:
    return self.forward.op

  @property
  def kept(self) -> tuple[str, ...]:
    """The operands and results of the op that the call has."""
    if self.transposed:
      return self.op.kept_for_transpose
    return self.op.kept_without(self.unwanted)

  @property
  def names(self) -> tuple[str, ...]:
    return (*self.kept, *("d" + name for name in self.outputs))

  @property
  def returned(self) -> tuple[str, ...]:
    """The operands whose cotangents it returns, if they have any."""
    every = self.op.linear if self.transposed else self.op.operands
    return tuple(name for name in every if name not in self.unwanted)

  @property
  def target(self) -> str:
    return self.op.backward_target

  @property
  def preference(self) -> choice.Preference:
    return self.forward.preference

  @property
  def splits_core(self) -> bool:
    split, kept = self.op.split, {*self.kept}
    if split is None or split.dimension in dict(self.sizes):
      return False
    linear = self.returned if self.transposed else ()
    return bool(split.backward) or kept.union(linear).issuperset(
        self.op.operands
    )

  @property
  def reference_gathers(self) -> bool:
    # `transpose=` is in terms of the op itself.
    return super().reference_gathers and not self.transposed

  def like(self, result: str) -> str:
    return result.removeprefix("d")

  @property
  def handler_attributes(self) -> dict[str, Any]:
    own = {"batch_rank": np.int64(self.batch_rank)}
    if self.op.derivatives.skips_gradients:
      slots = enumerate(self.op.slots)
      own["wanted"] = np.int64(
          sum(1 << i for i, n in slots if n in self.returned)
      )
    return self.forward.handler_attributes | own

  @property
  def column_major(self) -> dict[str, int]:
    own = self.forward.column_major
    return own | {"d" + name: rank for name, rank in own.items()}

  def dimensions(self, arrays: Sequence[Any]) -> Dimensions:
    dims = self.forward.dimensions_of(self.named(arrays))
    return dataclasses.replace(dims, sizes={**dims.sizes, **dict(self.sizes)})

  def with_sizes(self, sizes: Mapping[str, int]) -> "BackwardCall":
    """Returns the call with core dimensions that its arrays do not have."""
    return dataclasses.replace(self, sizes=tuple(sizes.items()))

  def gradients(self, arrays: Sequence[Any]) -> dict[str, ArrayType]:
    """Returns the types of the results, by the names of the operands."""
    op = self.op
    dims = self.dimensions(arrays)
    dropped = {x.name: x for x in self.dropped}
    kept = {
        name: (x.dtype, parts)
        for name, x, parts in zip(self.names, arrays, dims.arrays)
    }
    gradients = {}
    for name in self.returned:
      _, starred = op.axes[name]
      full = dims.full(self.forward.core(name, dims.sizes), starred)
      if name in dropped:
        _, dtype, is_shared = dropped[name]
      else:
        dtype, own = kept[name]
        is_shared = name in op.shareable and own.rank < full.rank
      if is_shared:
        full = Parts(full.leading[: self.batch_rank], full.core, ())
      if op.is_differentiable(dtype):
        gradients[name] = ArrayType(full, dtype)
    return gradients

  def results(self, arrays: Sequence[Any]) -> dict[str, ArrayType]:
    return {"d" + name: x for name, x in self.gradients(arrays).items()}

  @property
  def may_run_handler(self) -> bool:
    return bool(self.op.backward_platforms) and not self.transposed

  def decided(self, platform: str, arrays: Sequence[Any]) -> choice.Decision:
    """As for the forward call, but that `is_faster` is told."""
    if self.transposed:
      return choice.Decision(choice.Code.TRANSPOSED, "`transpose=` computes it")
    dims, dtypes = self.dimensions(arrays), self._dtypes(arrays)
    return choice.decided(platform, self.forward, dims, dtypes, backward=True)

  def _dtypes(self, arrays):
    """Returns those of the arrays and the dropped operands, by name."""
    named = {name: x.dtype for name, x in self.named(arrays).items()}
    return {x.name: x.dtype for x in self.dropped} | named

  def workspaces(
      self, platform: str, arrays: Sequence[Any]
  ) -> Mapping[str, jax.core.ShapedArray]:
    if platform not in workspaces.PLATFORMS:
      return {}
    dims, gradients = self.dimensions(arrays), self.gradients(arrays)
    dtypes = {name: x.dtype for name, x in gradients.items()}
    dtypes |= self._dtypes(arrays)
    return workspaces.workspaces(self.op, dims, gradients, dtypes)

  def _with_all_loops(self, dims: Dimensions) -> "BackwardCall":
    return dataclasses.replace(
        self,
        batch_rank=len(dims.leading),
        dropped=tuple(x._replace(is_shared=False) for x in self.dropped),
    )
