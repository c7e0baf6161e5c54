# SPDX-License-Identifier: Apache-2.0
"""Which direct calls of an op's targets are right: docs/contract.md."""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import lowering
from jax_ffi_ops.kit.backward import BackwardCall
from jax_ffi_ops.kit.backward import Info
from jax_ffi_ops.kit.calls import Call
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.dimensions import Dimensions
from jax_ffi_ops.kit.library import Library
from jax_ffi_ops.kit.testing import legality
from jax_ffi_ops.kit.testing.frames import Buffer
from jax_ffi_ops.kit.testing.frames import Frame
from jax_ffi_ops.kit.testing.frames import Shape
from jax_ffi_ops.kit.workspaces import workspaces


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
  def library(self) -> Library:
    return self.call.op.library

  @functools.cached_property
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
    legality.check(self, call, operands, batch_rank)
    attributes = {name: x.value for name, x in call.attributes.items()}
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
    dims = call.dimensions(dict(zip(operands, structs)))
    for i, (name, own) in enumerate(zip(operands, dims.arrays)):
      if name not in self.shareable and own.rank == 0:
        full = dims.full(own.core, call.op.axes[name][1])
        ones = ((1,) * len(full.leading), own.core, (1,) * len(full.trailing))
        structs[i] = jax.ShapeDtypeStruct(sum(ones, ()), structs[i].dtype)
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
    except legality.WrongOperandsError:
      return False
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
    names = self.call.op.result_names
    return {n: jnp.dtype(dtype) for n, (_, dtype) in zip(names, results)}

  def core(self, name: str, sizes: Mapping[str, int] | None = None) -> Shape:
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
    if op.broadcast_operands:
      return []
    names = {*op.weights, *op.row_sums, *op.parameters}
    return [name for name in op.operands if name in names]

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
  made = [Target(case.declared, case.call, dtypes, cores, k) for k in kinds]
  for target in made:
    target.library.ensure_registered(target.name)
  return made
