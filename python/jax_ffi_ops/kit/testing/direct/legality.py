# SPDX-License-Identifier: Apache-2.0
"""Whether operands of a direct call agree, as docs/contract.md wants it."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.dtypes import is_allowed
from jax_ffi_ops.kit.dtypes import unserved_weight
from jax_ffi_ops.kit.testing.direct.frames import Buffer


class WrongOperandsError(ValueError):
  """Operands that the contract does not allow."""


def check(
    target: Any,
    call: ForwardCall,
    operands: Mapping[str, Buffer],
    batch_rank: int,
) -> None:
  """Raises WrongOperandsError unless a target can be called with operands."""
  if tuple(operands) != target.operands:
    raise WrongOperandsError("count")
  _check_dtypes(target, operands)
  shared = {
      name
      for name in target.shareable
      if target.is_backward
      and name in operands
      and _rank(call, operands, name) == batch_rank < _most(call, operands)
  }
  full = _loops(call, operands, shared)
  if not 0 <= batch_rank <= len(full):
    raise WrongOperandsError("batch_rank")
  groups = [operands[name].shape[:batch_rank] for name in shared]
  try:
    jnp.broadcast_shapes(full[:batch_rank], *groups)
  except ValueError as error:
    raise WrongOperandsError("shared") from error


def _rank(call, operands, name):
  return len(operands[name].shape) - len(call.op.axes[name][0])


def _most(call, operands):
  return max(_rank(call, operands, name) for name in operands)


def _loops(call, operands, shared):
  """Returns the leading loops in full, after checks of all dimensions."""
  loops, sizes = {"leading": [], "trailing": []}, {}
  in_full = call.op.buffers.broadcast_operands
  for name, b in operands.items():
    core, starred = call.op.axes[name]
    rank = _rank(call, operands, name)
    has_loops = rank > 0 and name not in shared
    trailing = call.trailing_rank if starred and has_loops else 0
    leading = rank - trailing
    if min(leading, trailing) < 0:
      raise WrongOperandsError("rank")
    if has_loops or in_full:
      loops["leading"].append(b.shape[:leading])
    if starred and (has_loops or in_full):
      loops["trailing"].append(b.shape[len(b.shape) - trailing :])
    for d, size in zip(core, b.shape[leading:]):
      dim = core_sizes.parse(d)
      sizes.setdefault(dim.name, dim.value(size))
      if not dim.has(size) or size != core_sizes.size(d, sizes):
        raise WrongOperandsError("core")
  for kind, shapes in loops.items():
    try:
      # Not numpy's: it has no shape whose sizes multiply to 2^63, but for a 0.
      full = jnp.broadcast_shapes(*shapes)
    except ValueError as error:
      raise WrongOperandsError(kind) from error
    if any(len(shape) != len(full) for shape in shapes):
      raise WrongOperandsError(kind)
    if in_full and any(shape != full for shape in shapes):
      raise WrongOperandsError("broadcast")
  return jnp.broadcast_shapes(*loops["leading"])


def _check_dtypes(target, operands):
  op = target.call.op
  dtypes = {n: jnp.dtype(b.dtype) for n, b in operands.items()}
  for name, allowed in zip(op.operands, op.dtypes):
    if name in dtypes and not is_allowed(dtypes[name], allowed):
      raise WrongOperandsError("dtype")
  for name, other in op.same_dtype.items():
    both = {dtypes[n] for n in (name, other) if n in dtypes}
    if len(both) > 1:
      raise WrongOperandsError("dtype")
  every = {**target.dtypes, **dtypes}
  if unserved_weight(op.weights, every) is not None:
    raise WrongOperandsError("dtype")
  if target.is_backward:
    for name, dtype in target.result_dtypes(every).items():
      if any(dtypes.get(n, dtype) != dtype for n in (name, "d" + name)):
        raise WrongOperandsError("dtype")


def same(first, second):
  """Returns whether attributes have the same values of the same types."""
  return first.keys() == second.keys() and all(
      type(value) is type(second[name])
      and np.asarray(value).dtype == np.asarray(second[name]).dtype
      and np.array_equal(value, second[name])
      for name, value in first.items()
  )
