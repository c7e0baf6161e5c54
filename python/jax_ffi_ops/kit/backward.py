# SPDX-License-Identifier: Apache-2.0
"""The backward call: which loop dimensions it keeps and which it sums over.

A backward handler receives what is kept of the operands, residuals and
cotangents with the leading dimensions [loops..., rows...], of which
`batch_rank` are loops. An operand that rows share has just [loops...], and its
cotangent is the sum over the rows; it is what makes the gradient of a weight
one call and not a batch of weights. Trailing loops are rows too.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.calls import Call
from jax_ffi_ops.kit.dimensions import Dimensions
from jax_ffi_ops.kit.dimensions import Parts


@dataclasses.dataclass(frozen=True)
class Info:
  """What the operands of a backward call do not say.

  Attributes:
    outputs: the results that have a cotangent.
    dropped: operands that are not kept: name, dtype, whether rows share it.
    sizes: core dimensions of these that nothing else has.
  """

  outputs: tuple[str, ...]
  dropped: tuple[tuple[str, Any, bool], ...] = ()
  sizes: tuple[tuple[str, int], ...] = ()

  def without_shared(self) -> "Info":
    """Returns this for operands that all have all loops."""
    dropped = tuple((name, dtype, False) for name, dtype, _ in self.dropped)
    return dataclasses.replace(self, dropped=dropped)

  def __repr__(self) -> str:
    dropped = (f"{name}:{dtype}" for name, dtype, _ in self.dropped)
    return ",".join([*("d" + name for name in self.outputs), *dropped])


@dataclasses.dataclass(frozen=True)
class BackwardCall:
  """The dimensions of one backward call.

  Attributes:
    call: the forward call.
    arrays: what is kept, and cotangents, by name.
    dims: of these.
    gradients: the shape and dtype of each result, by the operand's name.
    shared: the operands that rows share.
  """

  call: Call
  arrays: Mapping[str, Any]
  dims: Dimensions
  gradients: Mapping[str, tuple[Parts, Any]]
  shared: frozenset[str]

  @classmethod
  def of(
      cls, call: Call, operands: Sequence[Any], batch_rank: int, info: Info
  ) -> "BackwardCall":
    """Returns what the operands (or their avals) of a call imply."""
    op = call.op
    names = [*op.kept, *("d" + name for name in info.outputs)]
    arrays = dict(zip(names, operands, strict=True))
    dims = call.dimensions(arrays)
    dims = dataclasses.replace(dims, sizes={**dims.sizes, **dict(info.sizes)})
    dropped = {name: (dtype, s) for name, dtype, s in info.dropped}
    gradients, shared = {}, set()
    for name in op.operands:
      _, starred = op.axes[name]
      full = dims.full(call.core(name, dims.sizes), starred)
      if name in dropped:
        dtype, is_shared = dropped[name]
      else:
        dtype = arrays[name].dtype
        is_shared = dims.arrays[names.index(name)].rank < full.rank
      if is_shared:
        shared.add(name)
        full = Parts(full.leading[:batch_rank], full.core, ())
      if op.is_differentiable(dtype):
        gradients[name] = full, dtype
    return cls(call, arrays, dims, gradients, frozenset(shared))


def vjp(
    call: Call,
    backward: Callable[..., Sequence[jax.Array]],
    operands: Sequence[Any],
    kept: Mapping[str, jax.Array],
    cotangents: Sequence[jax.Array],
) -> dict[str, jax.Array]:
  """Returns the cotangents of the differentiable operands of a forward call.

  Args:
    call: the forward call.
    backward: called as the backward primitive is.
    operands: all of the call, or their avals.
    kept: those that are kept, and residuals.
    cotangents: of the visible results that have tangents.
  """
  op = call.op
  named = dict(zip(op.operands, operands, strict=True))
  dims = call.dimensions(named)
  parts = dict(zip(named, dims.arrays))
  full = {
      name: dims.full(own.core, op.axes[name][1]) for name, own in parts.items()
  }
  # Handlers sum over rows for these alone; others have loops, if only of 1.
  summed = {*op.parameters, *op.row_sums, *op.weights}
  prefixes = {
      name: _shared_prefix(own, full[name]) if name in summed else None
      for name, own in parts.items()
  }
  batch_rank = max(
      (p for p in prefixes.values() if p is not None),
      default=len(dims.leading),
  )
  given = [
      _with_loops(x, parts[name], batch_rank)
      if prefixes.get(name) is not None
      else jnp.reshape(x, _ones(parts[name], full[name]).shape)
      if name in parts and parts[name].rank == 0
      else x
      for name, x in kept.items()
  ]
  outputs = call.differentiable_results(operands)
  outputs = tuple(op.outputs[index] for index in outputs)
  arrays = (*kept, *("d" + name for name in outputs))
  found = {d for name in arrays for d in op.axes[name][0]}
  info = Info(
      outputs,
      tuple(
          (name, x.dtype, prefixes[name] is not None)
          for name, x in named.items()
          if name not in kept
      ),
      tuple((d, size) for d, size in dims.sizes.items() if d not in found),
  )
  results = backward(*given, *cotangents, batch_rank=batch_rank, info=info)
  gradients = {}
  differentiable = [
      name for name, x in named.items() if op.is_differentiable(x.dtype)
  ]
  for name, x in zip(differentiable, results, strict=True):
    own = parts[name]
    # What the call does not sum: operands that broadcast in another way.
    if prefixes[name] is None:
      x = _sum_to(x, _ones(own, full[name]).shape)
      x = x if own.rank else jnp.reshape(x, own.core)
    else:
      leading = own.leading or (1,) * batch_rank
      x = _sum_to(x, (*leading[:batch_rank], *own.core))
      x = _without_loops(x, own, batch_rank)
    gradients[name] = x
  return gradients


def _shared_prefix(own, full):
  """Returns how many leading dimensions an operand that rows share has.

  None for one that has all dimensions, or lacks others than the last ones.
  """
  if own == full or any(size != 1 for size in own.trailing):
    return None
  rank = len(own.leading)
  while rank and own.leading[rank - 1] == 1:
    rank -= 1
  return rank if own.leading[:rank] == full.leading[:rank] else None


def _with_loops(x, own, rank):
  """Drops the loop dimensions of 1 after the first `rank`, or adds some."""
  count = len(own.leading)
  first = count + len(own.core)
  x = _squeeze(x, [*range(rank, count), *range(first, x.ndim)])
  return _expand(x, range(count, rank))


def _without_loops(x, own, rank):
  """Reverts what `_with_loops` did."""
  count = len(own.leading)
  first = count + len(own.core)
  x = _squeeze(x, range(count, rank))
  return _expand(
      x, [*range(rank, count), *range(first, first + len(own.trailing))]
  )


def _squeeze(x, axes):
  return jnp.squeeze(x, tuple(axes)) if axes else x


def _expand(x, axes):
  return jnp.expand_dims(x, tuple(axes)) if axes else x


def _ones(own, full):
  """Returns a shape with the loop dimensions of `full`; 1 where it has none."""
  if own.rank:
    return own
  return Parts((1,) * len(full.leading), own.core, (1,) * len(full.trailing))


def _sum_to(x, shape):
  axes = [d for d, size in enumerate(shape) if size == 1 and x.shape[d] != 1]
  return jnp.sum(x, axes, dtype=x.dtype, keepdims=True) if axes else x
