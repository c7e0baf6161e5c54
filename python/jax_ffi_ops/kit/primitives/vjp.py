# SPDX-License-Identifier: Apache-2.0
"""From a forward call to its backward call, and back to the caller's shapes.

A forward operand may broadcast in any way; a backward handler sums only over
rows, the last of the loop dimensions. So this passes an operand as the handler
wants it, and sums the rest of its cotangent here. For a call of "(d),(d)->(d)"
whose w is `kit.Operand(weight_of="x")`:

  operand         x [5, 7, d]   w [5, 1, d]   (one weight per example of a vmap)
  passed          x [5, 7, d]   w [5, d]      batch_rank = 1: 5 loops, 7 rows
  handler returns [5, 7, d]     [5, d]        dw is a sum over the 7 rows
  cotangent       [5, 7, d]     [5, 1, d]

With w [d] it would be passed as it is, with batch_rank = 0; with w [1, 7, d],
which rows do not share, as [1, 7, d]: the handler then returns [5, 7, d], and
the sum over the 5 is made here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.backward import Dropped
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.forward import ForwardCall


def vjp(
    forward: ForwardCall,
    backward: Callable[..., Sequence[jax.Array]],
    operands: Sequence[Any],
    kept: Mapping[str, jax.Array],
    cotangents: Sequence[jax.Array],
    transposed: bool = False,
    unwanted: Collection[str] = (),
) -> dict[str, jax.Array]:
  """Returns cotangents of the differentiable operands of a forward call.

  Args:
    forward: the call.
    backward: function of the arrays of a BackwardCall, and of that.
    operands: all of the forward call, or their avals.
    kept: the operands and results that are kept.
    cotangents: of the visible results that have tangents.
    transposed: see BackwardCall.
    unwanted: the operands whose cotangents may be left out.
  """
  op = forward.op
  named = forward.named(operands)
  dims = forward.dimensions(operands)
  shapes = {
      name: _Operand.of(own, dims.full(own.core, op.axes[name][1]))
      for name, own in zip(named, dims.arrays)
  }
  # Other operands have loops, if only of 1.
  shared = {
      name: shape.prefix
      for name, shape in shapes.items()
      if name in op.shareable and shape.prefix is not None
  }
  batch_rank = max(shared.values(), default=len(dims.leading))
  call = BackwardCall(
      forward,
      batch_rank,
      outputs=tuple(forward.moving_results(operands)),
      dropped=tuple(
          Dropped(name, x.dtype, name in shared)
          for name, x in named.items()
          if name not in kept
      ),
      transposed=transposed,
      unwanted=tuple(unwanted) if op.derivatives.skips_gradients else (),
  )
  found = {d for name in call.names for d in op.axes[name][0]}
  call = call.with_sizes(
      {d: n for d, n in dims.sizes.items() if d not in found}
  )
  arrays = []
  for name in call.kept:
    x = kept[name]
    if name in shared:
      x = _with_loops(x, shapes[name].own, batch_rank)
    elif name in shapes:
      x = _reshape(x, shapes[name].with_ones)
    arrays.append(x)
  results = backward([*arrays, *cotangents], call)
  moving = [n for n in call.returned if op.is_differentiable(named[n].dtype)]
  gradients = {}
  for name, x in zip(moving, results, strict=True):
    own = shapes[name].own
    if name in shared:
      leading = own.leading or (1,) * batch_rank
      x = _sum_to(x, (*leading[:batch_rank], *own.core))
      gradients[name] = _without_loops(x, own, batch_rank)
    else:
      x = _sum_to(x, shapes[name].with_ones)
      gradients[name] = _reshape(x, own.shape)
  return gradients


class _Operand(NamedTuple):
  """The shape of an operand of the forward call.

  Attributes:
    own: its shape.
    full: its shape with all loop dimensions.
    prefix: the number of leading dimensions that it has in full, if it has no
      other loops: rows share it. None otherwise.
  """

  own: Parts
  full: Parts
  prefix: int | None

  @classmethod
  def of(cls, own: Parts, full: Parts) -> "_Operand":
    if own == full or any(size != 1 for size in own.trailing):
      return cls(own, full, None)
    rank = len(own.leading)
    while rank and own.leading[rank - 1] == 1:
      rank -= 1
    has_them = own.leading[:rank] == full.leading[:rank]
    return cls(own, full, rank if has_them else None)

  @property
  def with_ones(self) -> tuple[int, ...]:
    """The shape with a 1 for each loop dimension that it lacks."""
    own, full = self.own, self.full
    if own.rank:
      return own.shape
    ones = Parts((1,) * len(full.leading), own.core, (1,) * len(full.trailing))
    return ones.shape


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


def _reshape(x, shape):
  return x if x.shape == shape else jnp.reshape(x, shape)


def _squeeze(x, axes):
  return jnp.squeeze(x, tuple(axes)) if axes else x


def _expand(x, axes):
  return jnp.expand_dims(x, tuple(axes)) if axes else x


def _sum_to(x, shape):
  axes = [d for d, size in enumerate(shape) if size == 1 and x.shape[d] != 1]
  return jnp.sum(x, axes, dtype=x.dtype, keepdims=True) if axes else x
