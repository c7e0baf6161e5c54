# SPDX-License-Identifier: Apache-2.0
"""Which direct calls of an op's targets are right: docs/contract.md."""

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.backward import Dropped
from jax_ffi_ops.kit.calls.base import HandlerCall
from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.load.library import Library
from jax_ffi_ops.kit.testing.direct import legality
from jax_ffi_ops.kit.testing.direct.frames import Buffer
from jax_ffi_ops.kit.testing.direct.frames import Frame
from jax_ffi_ops.kit.testing.direct.frames import Shape


@dataclasses.dataclass(frozen=True, eq=False)
class Target:
  """One of an op's targets, for calls with certain operands and attributes.

  Attributes:
    call: the forward call.
    dtypes: of the operands.
    cores: likewise.
    is_backward: which of the two targets it is.
    unwanted: the operands whose gradients it does not compute.
  """

  call: ForwardCall
  dtypes: Mapping[str, Any]
  cores: Mapping[str, Shape]
  is_backward: bool
  unwanted: tuple[str, ...] = ()

  @property
  def name(self) -> str:
    op = self.call.op
    return op.backward_target if self.is_backward else op.forward_target

  @property
  def library(self) -> Library:
    return self.call.op.library

  @functools.cached_property
  def cotangents(self) -> tuple[str, ...]:
    """The visible results that have cotangents."""
    return tuple(self.call.moving_results(self._cores(self.dtypes)))

  @property
  def operands(self) -> tuple[str, ...]:
    """The names of what the target takes."""
    if not self.is_backward:
      return self.call.op.operands
    kept = self.call.op.kept_without(self.unwanted)
    return (*kept, *("d" + name for name in self.cotangents))

  @property
  def gradients(self) -> list[str]:
    """The operands that have gradients, wanted or not."""
    op = self.call.op
    return [n for n in op.operands if op.is_differentiable(self.dtypes[n])]

  @property
  def optional(self) -> bool:
    return self.call.present is not None

  def frame(
      self, operands: Mapping[str, Buffer], batch_rank: int, trailing: int
  ) -> Frame:
    """Returns the call with these operands.

    Raises:
      WrongOperandsError: there is none.
    """
    forward = self._forward(trailing)
    legality.check(self, forward, operands, batch_rank)
    call: HandlerCall = forward
    if self.is_backward:
      call = BackwardCall(
          forward,
          batch_rank,
          self.cotangents,
          tuple(
              Dropped(name, dtype, False)
              for name, dtype in self.dtypes.items()
              if name not in operands
          ),
          unwanted=self.unwanted,
      )
    platform = "cpu" if jax.default_backend() == "cpu" else "cuda"
    received = call.received(platform, [b.struct for b in operands.values()])
    results = {
        name: Buffer(x.shape, jnp.dtype(x.dtype))
        for name, x in received.results.items()
    }
    return Frame(
        self.name,
        operands,
        results,
        received.attributes,
        received.column_major,
    )

  def _forward(self, trailing):
    starred = self.call.op.signature.starred
    trailing_rank = trailing if starred else None
    return dataclasses.replace(self.call, trailing_rank=trailing_rank)

  def dimensions(self, frame: Frame) -> Dimensions:
    trailing = int(frame.attributes.get("trailing_rank", 0))
    return self._forward(trailing).dimensions_of(
        {n: b.struct for n, b in frame.operands.items()}
    )

  def allows(self, frame: Frame) -> bool:
    """Returns whether the contract allows a call."""
    ranks = [frame.attributes.get(n) for n in ("batch_rank", "trailing_rank")]
    if not all(rank is None or isinstance(rank, np.int64) for rank in ranks):
      return False
    try:
      right = self.frame(frame.operands, *(int(rank or 0) for rank in ranks))
    except (legality.WrongOperandsError, TypeError, ValueError):
      return False  # Others than the first are the definition's.
    if not legality.same(frame.attributes, right.attributes):
      return False
    results = dict(right.results)
    for name, b in frame.results.items():  # Of any number of parts.
      if name.endswith("_workspace") and len(b.shape) == len(
          results[name].shape
      ):
        *groups, _, cols = results[name].shape
        parts = max(1, b.shape[len(groups)])
        results[name] = Buffer((*groups, parts, cols), results[name].dtype)
    return results == frame.results

  def result_dtypes(self, dtypes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what results have by definition."""
    results = self.call.results(self._cores(dtypes))
    return {name: jnp.dtype(x.dtype) for name, x in results.items()}

  def core(self, name: str, sizes: Mapping[str, int] | None = None) -> Shape:
    """Returns the core shape of an operand, result or cotangent."""
    if sizes is None:
      sizes = {}
      for n, core in self.cores.items():
        sizes |= core_sizes.solve(self.call.op.axes[n][0], core)
    return self.call.core(name, sizes)

  @property
  def shareable(self) -> list[str]:
    """The operands whose gradients may be sums over rows."""
    op = self.call.op
    return [] if op.buffers.broadcast_operands else list(op.shareable)

  def _cores(self, dtypes):
    op = self.call.op
    return [
        jax.ShapeDtypeStruct(self.cores[name], dtypes[name])
        for name in op.operands
    ]


def targets(case: Any) -> Sequence[Target]:
  """Returns the targets of a case, which can be called directly."""
  dtypes = {
      name: jnp.dtype(x.dtype)
      for name, x in zip(case.op.operands, case.operands, strict=True)
  }
  cores = dict(zip(case.op.operands, (x.core for x in case.operands)))
  kinds = [False] + [True] * bool(case.op.backward_platforms)
  made = [Target(case.call, dtypes, cores, k) for k in kinds]
  for target in made:
    target.library.ensure_registered(target.name)
  return made


def skipping(target: Target) -> Iterator[Target]:
  """Yields a target without each choice of gradients, but for all of them."""
  if not (target.is_backward and target.call.op.derivatives.skips_gradients):
    return
  every = target.gradients
  for count in range(1, len(every)):
    for unwanted in itertools.combinations(every, count):
      yield dataclasses.replace(target, unwanted=unwanted)
