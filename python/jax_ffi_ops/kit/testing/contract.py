# SPDX-License-Identifier: Apache-2.0
"""Which direct calls of an op's targets are right: docs/contract.md."""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import lowering
from jax_ffi_ops.kit.backward import BackwardCall
from jax_ffi_ops.kit.backward import Info
from jax_ffi_ops.kit.calls import Call
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.declaration import plain
from jax_ffi_ops.kit.dimensions import Dimensions
from jax_ffi_ops.kit.dtypes import is_allowed
from jax_ffi_ops.kit.dtypes import unserved_weight
from jax_ffi_ops.kit.testing.frames import Buffer
from jax_ffi_ops.kit.testing.frames import Frame
from jax_ffi_ops.kit.testing.frames import Shape
from jax_ffi_ops.kit.workspaces import workspaces


class WrongOperandsError(ValueError):
  """Operands that the contract does not allow."""


@dataclasses.dataclass(frozen=True, eq=False)
class Target:
  """One of an op's targets, for calls with certain operands and attributes.

  Attributes:
    declared: the op with all of its operands.
    call: what is known of the forward call.
    dtypes: of the operands.
    cores: likewise.
    is_backward: which of the two targets it is.
  """

  declared: Declaration
  call: Call
  dtypes: Mapping[str, Any]
  cores: Mapping[str, Shape]
  is_backward: bool

  @property
  def name(self) -> str:
    op = self.call.op
    return op.backward_target if self.is_backward else op.forward_target

  @property
  def cotangents(self) -> tuple[str, ...]:
    """The visible results that have cotangents."""
    indices = self.call.differentiable_results(self._cores(self.dtypes))
    return tuple(self.call.op.outputs[i] for i in indices)

  @property
  def operands(self) -> tuple[str, ...]:
    """The names of what the target takes."""
    if not self.is_backward:
      return self.call.op.operands
    return (*self.call.op.kept, *("d" + name for name in self.cotangents))

  @property
  def optional(self) -> bool:
    return bool(self.declared.signature.optional)

  def frame(
      self, operands: Mapping[str, Buffer], batch_rank: int, trailing: int
  ) -> Frame:
    """Returns the call with these operands.

    Raises:
      WrongOperandsError: there is none.
    """
    call = dataclasses.replace(self.call, trailing_rank=trailing)
    self._check(call, operands, batch_rank)
    attributes = plain(call.attributes)
    if self.optional:
      attributes["present"] = np.int64(
          sum(
              1 << i
              for i, name in enumerate(self.declared.operands)
              if name in call.op.operands
          )
      )
    if call.op.signature.starred:
      attributes["trailing_rank"] = np.int64(trailing)
    structs = [b.struct for b in operands.values()]
    if not self.is_backward:
      results = {
          name: Buffer(parts.shape, jnp.dtype(dtype))
          for name, (parts, dtype) in zip(
              call.op.result_names, call.results(structs), strict=True
          )
      }
      return Frame(self.name, operands, results, attributes)
    dropped = [
        (name, dtype, False)
        for name, dtype in self.dtypes.items()
        if name not in operands
    ]
    info = Info(self.cotangents, tuple(dropped))
    backward = BackwardCall.of(call, structs, batch_rank, info)
    results = {
        "d" + name: Buffer(parts.shape, jnp.dtype(dtype))
        for name, (parts, dtype) in backward.gradients.items()
    }
    if jax.default_backend() != "cpu" or "cpu" in lowering._WORKSPACE_PLATFORMS:  # pylint: disable=protected-access
      names = [n for n in call.op.row_sums if n in backward.gradients]
      for name, x in zip(names, workspaces(backward), strict=True):
        results[f"d{name}_workspace"] = Buffer(x.shape, jnp.dtype(x.dtype))
    attributes["batch_rank"] = np.int64(batch_rank)
    return Frame(self.name, operands, results, attributes)

  def dimensions(self, frame: Frame) -> Dimensions:
    trailing = int(frame.attributes.get("trailing_rank", 0))
    call = dataclasses.replace(self.call, trailing_rank=trailing)
    return call.dimensions({n: b.struct for n, b in frame.operands.items()})

  def allows(self, frame: Frame) -> bool:
    """Returns whether the contract allows a call."""
    ranks = [frame.attributes.get(n) for n in ("batch_rank", "trailing_rank")]
    if not all(rank is None or isinstance(rank, np.int64) for rank in ranks):
      return False
    try:
      right = self.frame(frame.operands, *(int(rank or 0) for rank in ranks))
    except WrongOperandsError:
      return False
    if not _same(frame.attributes, right.attributes):
      return False
    results = dict(right.results)
    for name, b in frame.results.items():  # Of any number of parts.
      if name.endswith("_workspace") and len(b.shape) == len(results[name].shape):
        *groups, _, cols = results[name].shape
        parts = max(1, b.shape[len(groups)])
        results[name] = Buffer((*groups, parts, cols), results[name].dtype)
    return results == frame.results

  def _check(self, call, operands, batch_rank):
    if tuple(operands) != self.operands:
      raise WrongOperandsError("count")
    self._check_dtypes(call, operands)
    loops, sizes = {"leading": [], "trailing": []}, {}
    ranks = {n: len(b.shape) - len(call.op.axes[n][0]) for n, b in operands.items()}
    for name, b in operands.items():
      core, starred = call.op.axes[name]
      trailing = call.trailing_rank if starred else 0
      rank = ranks[name]
      shared = self.is_backward and rank == batch_rank and rank < max(ranks.values())
      if rank == 0 or shared:
        trailing = 0
      leading = rank - trailing
      if min(leading, trailing) < 0:
        raise WrongOperandsError("rank")
      if rank and not shared:
        loops["leading"].append(b.shape[:leading])
        loops["trailing"].append(b.shape[len(b.shape) - trailing :])
      for d, size in zip(core, b.shape[leading:]):
        if sizes.setdefault(d, size) != size:
          raise WrongOperandsError("core")
    full = {}
    for kind, shapes in loops.items():
      try:
        full[kind] = np.broadcast_shapes(*shapes)
      except ValueError as error:
        raise WrongOperandsError(kind) from error
      if any(len(shape) != len(full[kind]) for shape in shapes if shape):
        raise WrongOperandsError(kind)
    if not 0 <= batch_rank <= len(full["leading"]):
      raise WrongOperandsError("batch_rank")
    for name, b in operands.items():
      if self.is_backward and ranks[name] == batch_rank:
        if any(a not in (1, z) for a, z in zip(b.shape, full["leading"][:batch_rank])):
          raise WrongOperandsError("shared")

  def _check_dtypes(self, call, operands):
    op = call.op
    dtypes = {n: jnp.dtype(b.dtype) for n, b in operands.items()}
    for name, allowed in zip(op.operands, op.dtypes):
      if name in dtypes and not (
          allowed is None or is_allowed(dtypes[name], allowed)
      ):
        raise WrongOperandsError("dtype")
    if unserved_weight(op.weights, {**self.dtypes, **dtypes}) is not None:
      raise WrongOperandsError("dtype")
    if self.is_backward:
      for name, dtype in self.result_dtypes({**self.dtypes, **dtypes}).items():
        if any(dtypes.get(n, dtype) != dtype for n in (name, "d" + name)):
          raise WrongOperandsError("dtype")

  def result_dtypes(self, dtypes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what results have by definition."""
    results = self.call.results(self._cores(dtypes))
    names = self.call.op.result_names
    return {n: jnp.dtype(dtype) for n, (_, dtype) in zip(names, results)}

  def core(
      self, name: str, sizes: Mapping[str, int] | None = None
  ) -> Shape:
    """Returns the core shape of an operand, result or cotangent."""
    if sizes is None:
      sizes = {
          d: size
          for n, core in self.cores.items()
          for d, size in zip(self.call.op.axes[n][0], core)
      }
    return self.call.core(name, sizes)

  @property
  def shareable(self) -> list[str]:
    """The operands whose gradients may be sums over rows."""
    op = self.call.op
    names = {*op.weights, *op.row_sums, *op.parameters}
    return [name for name in op.operands if name in names]

  def _cores(self, dtypes):
    op = self.call.op
    return [
        jax.ShapeDtypeStruct(self.cores[name], dtypes[name])
        for name in op.operands
    ]


def _same(first, second):
  """Returns whether attributes have the same values of the same types."""
  return first.keys() == second.keys() and all(
      type(value) is type(second[name])
      and np.asarray(value).dtype == np.asarray(second[name]).dtype
      and np.array_equal(value, second[name])
      for name, value in first.items()
  )


def targets(case: Any) -> Sequence[Target]:
  """Returns the targets of a case."""
  dtypes = {
      name: jnp.dtype(x.dtype)
      for name, x in zip(case.op.operands, case.operands, strict=True)
  }
  cores = dict(zip(case.op.operands, (x.core for x in case.operands)))
  kinds = [False] + [True] * bool(case.op.backward_platforms)
  return [Target(case.declared, case.call, dtypes, cores, k) for k in kinds]
