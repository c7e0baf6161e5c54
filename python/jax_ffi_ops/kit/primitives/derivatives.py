# SPDX-License-Identifier: Apache-2.0
"""What the derivative primitives compute, by the reference or by rules.

Let y = f(x) be the op, J its Jacobian at x, x_dot a tangent, dy a cotangent.
The tangent primitive is x_dot -> J x_dot, the backward primitive dy -> J^T dy.
An author may give either: `jvp=` is the first, `backward=` the second. Both are
linear, so each is the transpose of the other, and the reference gives both. The
first of these sources that exists is used:

jvp       `jvp=`; the reference, if all operands are kept; the transpose of
          `backward=`.
backward  `backward=`; the transpose of `jvp=`; the reference.

Where f is linear in an operand, f itself is J along that operand. `transpose=`
gives its J^T, and neither of the above is asked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.calls import mapping
from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.tangent import TangentCall
from jax_ffi_ops.kit.primitives import pieces
from jax_ffi_ops.kit.primitives import sharding
from jax_ffi_ops.kit.primitives.exchange import Exchange
from jax_ffi_ops.kit.primitives.vjp import vjp

Arrays = Mapping[str, Any]


def jvp(
    *arrays: jax.Array, call: TangentCall, by_reference: bool = False,
    over: tuple[str, ...] = (),
) -> list[jax.Array]:  # fmt: skip
  """Computes what the tangent primitive stands for.

  Args:
    *arrays: kept operands and results, and tangents.
    call: the call.
    by_reference: whether to use no rule.
    over: the mesh axes that the core is split over; arrays are pieces then.
  """
  op = call.op
  if over and op.keeps_operands:
    return pieces.jvp(call, arrays, over)
  if over:
    return pieces.jvp_by_transpose(call, arrays, over, _jvp_by_transpose)
  if op.derivatives.jvp is not None and not by_reference:
    return _jvp_by_rule(call, arrays)
  if op.derivatives.backward is None or (op.keeps_operands and op.reference):
    return _jvp_by_reference(call, arrays)
  return _jvp_by_transpose(call, arrays)


def _jvp_by_rule(call, arrays):
  """x_dot -> J x_dot is `jvp=`; what has no tangent has one of zeros."""
  op = call.op
  named = call.named(arrays)
  for name in op.operands:
    if name + "_dot" not in named and op.is_differentiable(named[name].dtype):
      named[name + "_dot"] = jnp.zeros_like(named[name])
  found = call.forward.map(op.derivatives.jvp, named)
  types = call.results(arrays).values()
  return [
      _full(x.astype(t.dtype), t.parts)
      for x, t in zip(found, types, strict=True)
  ]


def _jvp_by_reference(call, arrays):
  """J x_dot by jax.jvp of the reference, along the operands that move."""
  operands = dict(zip(call.op.operands, call.operands(arrays)))
  tangents = list(arrays[len(call.kept) :])
  primals = [operands[name] for name in call.moving]
  function = _visible(call.forward, operands, call.moving)
  return list(jax.jvp(function, primals, tangents)[1])


def _jvp_by_transpose(call, arrays, over=()):
  """J x_dot, where `backward=` gives dy -> J^T dy: the transpose of that."""
  named = call.named(arrays)
  kept = {name: named[name] for name in call.op.kept}
  operands = call.operands(arrays)

  def pull_back(*cotangents):
    def backward(arrays, call):
      return by_rule(call, arrays, over)

    found = vjp(call.forward, backward, operands, kept, cotangents)
    return {name: found[name] for name in tangents}

  tangents = dict(zip(call.moving, arrays[len(call.kept) :]))
  dy = [jnp.zeros(*x) for x in _shapes(call.results(arrays))]
  others = [named[name] for name in call.kept]
  return _transpose(pull_back, dy, tangents, others)


def backward(
    *arrays: jax.Array, call: BackwardCall, higher: bool = False,
    over: tuple[str, ...] = (),
) -> list[jax.Array]:  # fmt: skip
  """Computes what the backward primitive stands for.

  Args:
    *arrays: kept operands and results, and cotangents.
    call: the call.
    higher: whether it is to be differentiated once more: residuals that have no
      tangents are not used then.
    over: the mesh axes that the core is split over; arrays are pieces then.
  """
  op = call.op
  if over:
    if op.split.backward is None:
      return pieces.backward(call, arrays, over)
    with jax.enable_x64(True):
      return by_rule(call, arrays, over)
  rules = op.derivatives
  complete = op.keeps_operands and op.reference is not None
  if call.transposed or (rules.backward and not (higher and complete)):
    return by_rule(call, arrays)
  if rules.jvp and not (higher and op.hidden.intersection(rules.jvp.names)):
    return _backward_by_transpose(call, arrays)
  return _backward_by_reference(call, arrays)


def by_rule(
    call: BackwardCall, arrays: Sequence[jax.Array], over: tuple[str, ...] = ()
) -> list[jax.Array]:
  """dy -> J^T dy is `backward=` or `transpose=`; sums it over rows.

  With `over`, it is `backward=` of `split=`, and arrays are pieces.
  """
  op, gradients, named = call.op, call.gradients(arrays), call.named(arrays)
  if over:
    rule = op.split.backward
    found = Exchange(call.forward, rule, named, over).results()
  else:
    rules = op.derivatives
    rule = rules.transpose if call.transposed else rules.backward
    found = call.forward.map(rule, named)
  # One for each operand, and None for some.
  slots = [n for n in op.slots if not call.transposed or n not in rule.names]
  if len(found) == len(slots):
    found = [x for x, n in zip(found, slots) if n in gradients]
  dims = call.dimensions(arrays)
  results = []
  for x, (parts, dtype) in zip(found, gradients.values(), strict=True):
    full = dims.full(parts.core)
    # Sums are over what the rule returns, and rounded once.
    results.append(mapping.sum_to(_full(x, full), full, parts).astype(dtype))
  return results


def _backward_by_transpose(call, arrays):
  """J^T dy, where `jvp=` gives x_dot -> J x_dot: the transpose of that."""
  named, gradients = call.named(arrays), call.gradients(arrays)
  cotangents = _full_cotangents(call, arrays)

  def push_forward(*x_dot):
    tangents = dict(zip((name + "_dot" for name in gradients), x_dot))
    found = call.forward.map(call.op.derivatives.jvp, named | tangents)
    return [
        _full(x.astype(dy.dtype), parts)
        for x, (dy, parts) in zip(found, cotangents, strict=True)
    ]

  x_dot = [jnp.zeros(*x) for x in _shapes(gradients)]
  dy = [x for x, _ in cotangents]
  return _transpose(push_forward, x_dot, dy, arrays)


def _backward_by_reference(call, arrays):
  """J^T dy by jax.vjp of the reference; that also sums over rows."""
  named, gradients = call.named(arrays), call.gradients(arrays)
  primals = [
      jnp.broadcast_to(named[name], x.parts.shape)
      for name, x in gradients.items()
  ]
  _, pull_back = jax.vjp(_visible(call.forward, named, gradients), *primals)
  return list(pull_back([x for x, _ in _full_cotangents(call, arrays)]))


def _visible(forward, operands, moving):
  """Returns the reference's visible results as a function of some operands."""

  def function(*chosen):
    mixed = {**operands, **dict(zip(moving, chosen, strict=True))}
    mixed = [mixed[name] for name in forward.op.operands]
    results = forward.reference(mixed)
    return [results[name] for name in forward.moving_results(mixed)]

  return function


def _transpose(
    linear: Callable[..., Any], zeros: Sequence[jax.Array], values: Any,
    others: Sequence[jax.Array],
) -> list[jax.Array]:  # fmt: skip
  """Applies the transpose of a linear function of arrays like `zeros`."""
  # Not jax.linear_transpose, which knows no axes of shard_map.
  varied = sharding.vary_alike([*zeros, *others])[: len(zeros)]
  return list(jax.vjp(linear, *varied)[1](values))


def _shapes(types):
  return [(x.parts.shape, x.dtype) for x in types.values()]


def _full(x: jax.Array, shape: Parts) -> jax.Array:
  return mapping.broadcast(x, len(shape.core), shape)


def _full_cotangents(call, arrays):
  """Returns the cotangents with all loops, and their shapes."""
  named, dims = call.named(arrays), call.dimensions(arrays)
  found = []
  for name in call.outputs:
    parts = dims.full(call.forward.core(name, dims.sizes))
    found.append((_full(named["d" + name], parts), parts))
  return found
