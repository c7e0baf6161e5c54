# SPDX-License-Identifier: Apache-2.0
"""From primitives to custom calls: where an op is traced decides how.

On one device, inside a pmap or a shard_map over all axes: a plain call. Where
XLA splits the program: a call with a rule for that. On explicit mesh axes: a
shard_map over them. On a platform without a handler: the reference.
"""

from collections.abc import Callable, Collection, Sequence
import functools

import jax
from jax.extend import core as jex_core
from jax.interpreters import mlir

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.calls import mapping
from jax_ffi_ops.kit.calls.base import Broadcast
from jax_ffi_ops.kit.calls.base import orders
from jax_ffi_ops.kit.calls.choice import Code
from jax_ffi_ops.kit.calls.choice import Preference
from jax_ffi_ops.kit.dtypes import keeping_64_bits
from jax_ffi_ops.kit.load.source import Source
from jax_ffi_ops.kit.primitives import partitioning
from jax_ffi_ops.kit.primitives import sharding

# By an op's primitive, the reference that it stands for.
references: dict[jex_core.Primitive, Callable[..., Sequence[jax.Array]]] = {}


def register(
    primitive: jex_core.Primitive,
    reference: Callable[..., Sequence[jax.Array]],
    library: Source | None = None,
    platforms: Collection[str] = (),
    calls_back: bool = False,
) -> None:
  """Registers how a primitive is lowered.

  Args:
    primitive: called with operands and `call`.
    reference: likewise; computes the same in terms of other primitives. With
      `over`, the mesh axes that the core is split over, it is given pieces.
    library: has the handlers.
    platforms: where there is a handler.
    calls_back: whether XLA may ask how to split a call also without one.
  """

  references[primitive] = reference

  def by_reference(ctx, *operands, call):
    function = functools.partial(reference, call=call)
    if sharding.explicit_mesh(ctx.avals_in) is not None:
      function = sharding.over_explicit_axes(
          function, function, call, ctx.avals_in
      )
    elif call.reference_gathers and _jax.calls_back(ctx):
      mesh = _jax.automatic_mesh(ctx)
      if mesh is not None:
        function = partitioning.partitioned(
            function, function, call, ctx.avals_in, mesh
        )
        ctx = _jax.with_devices(ctx)
    return _lower(ctx, function, operands)

  def by_handler(platform, ctx, *operands, call):
    decision = call.decided(platform, ctx.avals_in)
    if not decision.runs_handler:
      must_run = call.preference is Preference.HANDLER
      is_error = call.op.choice.strict or must_run
      if is_error and decision.code not in (Code.ASKED, Code.TRANSPOSED):
        _raise_no_handler(call, decision.reason)
      return by_reference(ctx, *operands, call=call)
    bind = functools.partial(primitive.bind, call=call)
    on_pieces = functools.partial(reference, call=call)
    if sharding.explicit_mesh(ctx.avals_in) is not None:
      function = sharding.over_explicit_axes(
          bind, on_pieces, call, ctx.avals_in
      )
      return _lower(ctx, function, operands)
    mesh = _jax.automatic_mesh(ctx)
    if mesh is not None and _jax.calls_back(ctx):
      function = partitioning.partitioned(
          bind, on_pieces, call, ctx.avals_in, mesh
      )
      return _lower(_jax.with_devices(ctx), function, operands)
    # Here, and not before: only what one device has is copied.
    broadcast = call.broadcast(ctx.avals_in)
    if broadcast is not None:
      return _lower(ctx, _with_all_loops(primitive, broadcast), operands)
    received = call.received(platform, ctx.avals_in)
    target = library.ready(received, _jax.is_exported(ctx))
    if (
        target is None
    ):  # It could not be compiled, as its choice says from now on.
      return by_handler(platform, ctx, *operands, call=call)
    results = list(received.results.values())
    attributes = None
    if mesh is not None:
      attributes = partitioning.batch_attributes(
          call.loop_axes(ctx.avals_in), ctx.avals_in, results
      )
    rule = jax.ffi.ffi_lowering(
        target,
        operand_layouts=_layouts(received.operands, received.column_major),
        result_layouts=_layouts(received.results, received.column_major),
        extra_attributes=attributes,
        operand_output_aliases=dict(received.aliases),
    )
    count = len(ctx.avals_out)
    ctx = ctx.replace(avals_out=results)
    return rule(ctx, *operands, **received.attributes)[:count]

  def elsewhere(ctx, *operands, call):
    if platforms and call.may_run_handler:
      if call.preference is Preference.HANDLER:
        known = " and ".join(sorted(platforms))
        _raise_no_handler(call, f"there is one for {known} alone")
    return by_reference(ctx, *operands, call=call)

  mlir.register_lowering(primitive, _in_given_dtypes(elsewhere))
  for platform in platforms:
    mlir.register_lowering(
        primitive,
        _in_given_dtypes(functools.partial(by_handler, platform)),
        platform=platform,
    )
  if platforms or calls_back:
    _jax.requires_devices_during_lowering(primitive)


def _raise_no_handler(call, reason):
  reason = reason.rstrip(".")
  raise ValueError(f"{call.op.name}: the call must run a handler: {reason}.")


def _layouts(arrays, column_major):
  """Returns axes as the rule wants them: that of the smallest stride first."""
  return [x[::-1] for x in orders(arrays, column_major)]


def _in_given_dtypes(lower):
  def rule(ctx, *operands, call):
    with keeping_64_bits([*ctx.avals_in, *ctx.avals_out]):
      return lower(ctx, *operands, call=call)

  return rule


def _lower(ctx, function, operands):
  return mlir.lower_fun(function, multiple_results=True)(ctx, *operands)


def _with_all_loops(primitive, broadcast: Broadcast):
  """Returns the primitive in terms of itself on operands with all loops."""

  def call(*operands):
    filled = [
        mapping.fill(x, own, full)
        for x, (own, full) in zip(operands, broadcast.operands)
    ]
    results = primitive.bind(*filled, call=broadcast.call)
    return [
        mapping.sum_to(x, full, own)
        for x, (full, own) in zip(results, broadcast.results)
    ]

  return call
