# SPDX-License-Identifier: Apache-2.0
"""What primitives compute of pieces: each device has one of the split core.

`split=` of the op tells how. Its functions may compute in 64 bits, so they are
called where jax allows that; what they return is of the types that are declared.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.calls import mapping
from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.calls.tangent import TangentCall
from jax_ffi_ops.kit.primitives.exchange import Exchange

_Over = tuple[str, ...]  # The mesh axes that the core is split over.


def forward(
    *arrays: jax.Array, call: ForwardCall, over: _Over = ()
) -> list[jax.Array]:
  """Computes what the forward primitive stands for, of pieces or by reference."""
  if not over:
    return list(call.reference(arrays).values())
  types = call.results(arrays)
  with jax.enable_x64(True):
    return list(_results(call, call.named(arrays), types, over).values())


def jvp(
    call: TangentCall, arrays: Sequence[jax.Array], over: _Over
) -> list[jax.Array]:
  """Computes what the tangent primitive stands for."""
  named = dict(zip(call.op.operands, call.operands(arrays)))
  primals = [named[name] for name in call.moving]
  function = _visible(call.forward, named, call.moving, over)
  with jax.enable_x64(True):
    return list(jax.jvp(function, primals, list(arrays[len(call.kept) :]))[1])


def jvp_by_transpose(
    call: TangentCall, arrays: Sequence[jax.Array], over: _Over,
    transpose: Callable[..., Any],
) -> list[jax.Array]:  # fmt: skip
  """Computes the same by the transpose of the backward pass of pieces.

  Args:
    call: the call.
    arrays: what it is given.
    over: the mesh axes that the core is split over.
    transpose: computes it, given `over`, too.
  """
  op = call.op
  count = len(call.kept)
  tangents = _pieces(op, call.moving, arrays[count:], over)
  with jax.enable_x64(True):
    found = transpose(call, [*arrays[:count], *tangents], over)
  outputs = map(call.like, call.results(arrays))
  return _sums(op, outputs, found, over)


def backward(
    call: BackwardCall, arrays: Sequence[jax.Array], over: _Over
) -> list[jax.Array]:
  """Computes what the backward primitive stands for: from the forward pass.

  States are exchanged there, and their cotangents here.
  """
  types = call.gradients(arrays)
  op, named = call.op, call.named(arrays)
  primals = [
      # Where it is linear, any operand has the same derivative.
      jnp.broadcast_to(named[name], x.parts.shape)
      if name in named
      else jnp.zeros(x.parts.shape, x.dtype)
      for name, x in types.items()
  ]
  operands = named | dict(zip(types, primals))
  function = _visible(call.forward, operands, types, over)
  cotangents = _pieces(op, call.outputs, arrays[len(call.kept) :], over)
  with jax.enable_x64(True):
    results, pull_back = jax.vjp(function, *primals)
    cotangents = map(jnp.broadcast_to, cotangents, (x.shape for x in results))
    found = pull_back(list(cotangents))
  return _sums(op, types, found, over)


def _has_pieces(op, name):
  return op.split.dimension in op.axes[name][0]


def _pieces(op, names, arrays, over):
  """Returns arrays of which all devices together have the sum.

  What all have, the first one has, and the others have zeros.
  """
  is_first = jax.lax.axis_index(over) == 0
  return [
      x if _has_pieces(op, name) else jnp.where(is_first, x, jnp.zeros_like(x))
      for name, x in zip(names, arrays, strict=True)
  ]


def _sums(op, names, arrays, over):
  """Returns arrays of which all devices have the whole sum, or their pieces."""
  return [
      x if _has_pieces(op, name) else jax.lax.psum(x, over)
      for name, x in zip(names, arrays, strict=True)
  ]


def _visible(call, operands, moving, over):
  """Returns the visible results as a function of some operands."""
  operands = {name: operands[name] for name in call.op.operands}
  types = call.results(list(operands.values()))
  outputs = call.moving_results(list(operands.values()))

  def function(*chosen):
    mixed = operands | dict(zip(moving, chosen, strict=True))
    results = _results(call, mixed, types, over, skips=False)
    return [results[name] for name in outputs]

  return function


def _results(call, operands, types, over, skips=True) -> dict[str, Any]:
  found = Exchange(call, call.op.split, operands, over, skips).results()
  return {
      name: mapping.broadcast(
          x.astype(types[name].dtype), len(types[name].parts.core),
          types[name].parts,
      )
      for name, x in zip(types, found, strict=True)
  }  # fmt: skip
