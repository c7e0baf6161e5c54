# SPDX-License-Identifier: Apache-2.0
"""What the derivative primitives stand for, by the reference or by rules.

Each function here has several sources, of which the first that is there serves:

jvp       `jvp=`; the reference, if all operands are kept; the transpose of
          `backward=`.
backward  `backward=` or `transpose=`; the transpose of `jvp=`; the reference.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit import backward as backwards
from jax_ffi_ops.kit import looping
from jax_ffi_ops.kit import sharding
from jax_ffi_ops.kit.backward import BackwardCall
from jax_ffi_ops.kit.backward import Info
from jax_ffi_ops.kit.calls import Call

Arrays = Mapping[str, Any]


def jvp(
    call: Call, operands: Sequence[Any], kept: Arrays, tangents: Arrays,
    by_reference: bool = False,
) -> list[jax.Array]:  # fmt: skip
  """Returns the tangents of the visible results that have any.

  Args:
    call: the call.
    operands: all operands, or the avals of those that are not kept.
    kept: operands and residuals by name.
    tangents: those of operands that have any.
    by_reference: whether to use no rule.
  """
  op = call.op
  if op.jvp is not None and not by_reference:
    return _jvp_by_rule(call, operands, kept, tangents)
  if op.backward is None or (op.keeps_operands and op.reference):
    return _jvp_by_reference(call, operands, tangents)
  outputs = call.differentiable_results(operands)
  results = call.results(operands)

  def vjp(*cotangents):
    def backward(*arrays, batch_rank, info):
      return by_rule(BackwardCall.of(call, arrays, batch_rank, info))

    kept_ = {name: kept[name] for name in op.kept}
    return backwards.vjp(call, backward, operands, kept_, cotangents)

  zeros = [jnp.zeros(results[i][0].shape, results[i][1]) for i in outputs]
  return _transpose(vjp, zeros, dict(tangents), kept)


def _transpose(linear, zeros, values, others):
  """Applies the transpose of a function that is linear in its operands."""
  # Not jax.linear_transpose, which knows no axes of shard_map.
  varied = sharding.vary_alike([*zeros, *others.values()])[: len(zeros)]
  return list(jax.vjp(linear, *varied)[1](values))


def _jvp_by_rule(call, operands, kept, tangents):
  op = call.op
  results = call.results(operands)
  outputs = call.differentiable_results(operands)
  named = dict(zip(op.operands, operands))
  arrays = dict(kept)
  for name, x in named.items():
    if name in tangents:
      arrays[name + "_dot"] = tangents[name]
    elif op.is_differentiable(x.dtype):
      arrays[name + "_dot"] = jnp.zeros_like(x)
  found = call.map(op.jvp, arrays)
  return [
      looping.broadcast(
          x.astype(results[i][1]), len(results[i][0].core), results[i][0]
      )
      for x, i in zip(found, outputs, strict=True)
  ]


def _jvp_by_reference(call, operands, tangents):
  moving = [i for i, name in enumerate(call.op.operands) if name in tangents]

  def of_moving(*chosen):
    mixed = list(operands)
    for i, x in zip(moving, chosen, strict=True):
      mixed[i] = x
    return _visible(call, mixed)

  primals = [operands[i] for i in moving]
  chosen = [tangents[call.op.operands[i]] for i in moving]
  return list(jax.jvp(of_moving, primals, chosen)[1])


def _visible(call, operands):
  """Returns the visible results that have tangents, by the reference."""
  results = call.reference(operands)
  return [results[i] for i in call.differentiable_results(operands)]


def backward(
    call: Call,
    *operands: jax.Array,
    batch_rank: int,
    info: Info,
    higher: bool = False,
) -> list[jax.Array]:
  """Computes what the backward primitive stands for.

  Args:
    call: the forward call.
    *operands: what is kept, and cotangents.
    batch_rank: see backward.py.
    info: likewise.
    higher: whether it is to be differentiated once more: residuals that have no
      tangents are not used then.
  """
  op = call.op
  backward_call = BackwardCall.of(call, operands, batch_rank, info)
  complete = op.keeps_operands and op.reference is not None
  if op.transpose or (op.backward and not (higher and complete)):
    return by_rule(backward_call)
  if op.jvp and not (higher and op.hidden.intersection(op.jvp.names)):
    return _by_transpose(backward_call, info)
  return _by_reference(backward_call, info)


def by_rule(backward: BackwardCall) -> list[jax.Array]:
  """Calls `backward=` or `transpose=`, and sums over rows."""
  op = backward.call.op
  found = backward.call.map(op.backward or op.transpose, backward.arrays)
  if len(found) == len(op.slots):
    found = [x for x, name in zip(found, op.slots) if name in op.operands]
    found = [
        x for x, name in zip(found, op.operands) if name in backward.gradients
    ]
  gradients = []
  for x, (name, (parts, dtype)) in zip(
      found, backward.gradients.items(), strict=True
  ):
    full = backward.dims.full(parts.core)
    x = looping.broadcast(x, len(parts.core), full)
    # Sums are over what the rule returns, and rounded once.
    gradients.append(looping.sum_to(x, full, parts).astype(dtype))
  return gradients


def _outputs(backward, info):
  """Returns the shapes of the results that have cotangents."""
  dims = backward.dims
  return [
      dims.full(backward.call.core(name, dims.sizes)) for name in info.outputs
  ]


def _full_cotangents(backward, info):
  return [
      looping.broadcast(backward.arrays["d" + name], len(parts.core), parts)
      for name, parts in zip(info.outputs, _outputs(backward, info))
  ]


def _by_transpose(backward, info):
  """Computes cotangents of the operands by the transpose of `jvp=`."""
  cotangents = _full_cotangents(backward, info)

  def tangents(*chosen):
    arrays = dict(backward.arrays)
    arrays.update(zip((n + "_dot" for n in backward.gradients), chosen))
    found = backward.call.map(backward.call.op.jvp, arrays)
    return [
        looping.broadcast(x.astype(ct.dtype), len(parts.core), parts)
        for x, ct, parts in zip(
            found, cotangents, _outputs(backward, info), strict=True
        )
    ]

  zeros = [jnp.zeros(p.shape, t) for p, t in backward.gradients.values()]
  return _transpose(tangents, zeros, cotangents, backward.arrays)


def _by_reference(backward, info):
  """Computes cotangents of the operands by jax.vjp of the reference."""
  call, gradients = backward.call, backward.gradients

  def of_differentiable(*chosen):
    operands = dict(backward.arrays)
    operands.update(zip(gradients, chosen, strict=True))
    return _visible(call, [operands[name] for name in call.op.operands])

  _, vjp = jax.vjp(
      of_differentiable,
      *(
          jnp.broadcast_to(backward.arrays[name], parts.shape)
          for name, (parts, _) in gradients.items()
      ),
  )
  return list(vjp(_full_cotangents(backward, info)))
