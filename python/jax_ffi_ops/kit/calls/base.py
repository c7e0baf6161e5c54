# SPDX-License-Identifier: Apache-2.0
"""The one parameter of the kit's primitives: a call without its arrays.

It is hashable, and equal calls of arrays of the same types are the same
program. Its methods take the arrays of the call, or just their avals.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jax_ffi_ops.kit.calls.choice import Decision
from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.loop_axes import LoopAxes
from jax_ffi_ops.kit.declare.declaration import Declaration


class ArrayType(NamedTuple):
  """The shape and dtype of an array of a call."""

  parts: Parts
  dtype: Any

  @property
  def aval(self) -> jax.core.ShapedArray:
    return jax.core.ShapedArray(self.parts.shape, self.dtype)


class Received(NamedTuple):
  """What a handler receives; docs/contract.md says it in words.

  Attributes:
    target: the FFI target.
    operands: avals by name, in order.
    results: likewise; on CUDA the workspaces follow.
    attributes: NumPy scalars, arrays and strings by name.
    aliases: operands whose memory a result takes, both by index.
    column_major: the names of operands and results whose cores are so in memory,
      and how many axes these have.
  """

  target: str
  operands: Mapping[str, Any]
  results: Mapping[str, jax.core.ShapedArray]
  attributes: Mapping[str, Any]
  aliases: Mapping[int, int] = {}
  column_major: Mapping[str, int] = {}


def orders(
    arrays: Mapping[str, Any], column_major: Mapping[str, int]
) -> list[tuple[int, ...]]:
  """Returns the axes of arrays, those of the largest strides first.

  Args:
    arrays: with a shape each.
    column_major: see Received.
  """
  found = []
  for name, x in arrays.items():
    rank = len(x.shape)
    first = max(rank - column_major.get(name, 0), 0)
    found.append((*range(first), *reversed(range(first, rank))))
  return found


class Broadcast(NamedTuple):
  """A call in terms of one whose arrays all have all loop dimensions.

  Attributes:
    call: that one.
    operands: the shapes of each operand: of this call, and of that one.
    results: the shapes of each result: of that call, and of this one, where it
      is the sum over the loop dimensions that are gone.
  """

  call: "Call"
  operands: Sequence[tuple[Parts, Parts]]
  results: Sequence[tuple[Parts, Parts]]


class Call(abc.ABC):
  """A call of one of an op's primitives."""

  @property
  @abc.abstractmethod
  def op(self) -> Declaration:
    """Declares the operands that are present, and no others."""

  @property
  @abc.abstractmethod
  def target(self) -> str:
    """The FFI target, or that of the op it belongs to."""

  @property
  @abc.abstractmethod
  def names(self) -> tuple[str, ...]:
    """The names of the arrays, in order."""

  @abc.abstractmethod
  def dimensions(self, arrays: Sequence[Any]) -> Dimensions:
    """Returns the dimensions of the arrays."""

  @abc.abstractmethod
  def results(self, arrays: Sequence[Any]) -> dict[str, ArrayType]:
    """Returns the types of the results, by name."""

  def named(self, arrays: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(self.names, arrays, strict=True))

  @property
  @abc.abstractmethod
  def splits_core(self) -> bool:
    """Whether `split=` of the op tells how pieces of a core are computed."""

  @property
  def reference_gathers(self) -> bool:
    """Whether XLA gathers a split core for the reference, and need not.

    For a reduction, XLA exchanges what devices have reduced, too.
    """
    return self.splits_core and self.op.split.is_scan

  @abc.abstractmethod
  def like(self, result: str) -> str:
    """Returns the name of what a result has the core dimensions of."""

  def loop_axes(self, arrays: Sequence[Any]) -> LoopAxes:
    """Returns which axes of arrays and results are the same loop dimension."""
    axes, results = self.op.axes, self.results(arrays)
    names = (*self.names, *map(self.like, results))
    return LoopAxes.of(
        self.dimensions(arrays),
        [x.parts for x in results.values()],
        [axes[name][0] for name in names],
        self.op.split.dimension if self.splits_core else None,
    )


class HandlerCall(Call):
  """A call for which there may be a handler."""

  @property
  @abc.abstractmethod
  def handler_attributes(self) -> dict[str, Any]:
    """The attributes that the handler receives."""

  @property
  @abc.abstractmethod
  def column_major(self) -> dict[str, int]:
    """See Received."""

  @abc.abstractmethod
  def decided(self, platform: str, arrays: Sequence[Any]) -> Decision:
    """Returns whether the handler runs on a platform, or why not."""

  @property
  def may_run_handler(self) -> bool:
    """Whether there is a handler for such calls, on any platform."""
    return True

  def check_loops(self, arrays: Sequence[Any]) -> None:
    """Raises ValueError if no handler takes so many loop dimensions."""
    dims, most = self.dimensions(arrays), self.op.buffers.most_loops
    if most is None or dims.rank <= most or not self.may_run_handler:
      return
    raise ValueError(
        f"{self.op.name}: handlers take {most} loop dimensions at most, got"
        f" {[*dims.leading, *dims.trailing]}. In place of `jax.vmap`, use"
        " `jax.lax.map`."
    )

  def workspaces(
      self, platform: str, arrays: Sequence[Any]
  ) -> dict[str, jax.core.ShapedArray]:
    """Returns the further results that are the handler's memory."""
    del platform, arrays
    return {}

  def received(self, platform: str, arrays: Sequence[Any]) -> Received:
    """Returns what the handler receives on a platform."""
    results = {name: x.aval for name, x in self.results(arrays).items()}
    results |= self.workspaces(platform, arrays)
    return Received(
        self.target,
        self.named(arrays),
        results,
        self.handler_attributes,
        column_major=self.column_major,
    )

  def broadcast(self, arrays: Sequence[Any]) -> Broadcast | None:
    """Returns how handlers with `broadcast_operands` are called.

    None if the call is as they want it, or if they take any.
    """
    if not self.op.buffers.broadcast_operands:
      return None
    dims = self.dimensions(arrays)
    full = dims.all_full([self.op.axes[name][1] for name in self.names])
    filled = [ArrayType(p, x.dtype).aval for p, x in zip(full, arrays)]
    call = self._with_all_loops(dims)
    before = [x.parts for x in self.results(arrays).values()]
    after = [x.parts for x in call.results(filled).values()]
    if (dims.arrays, before) == (full, after):
      return None
    return Broadcast(
        call, list(zip(dims.arrays, full)), list(zip(after, before))
    )

  def _with_all_loops(self, dims: Dimensions) -> "HandlerCall":
    """Returns the call of arrays that have all loop dimensions."""
    del dims
    return self
