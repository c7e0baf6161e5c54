# SPDX-License-Identifier: Apache-2.0
"""From primitives to custom calls: where an op is traced decides how.

On one device, inside a shard_map or pmap, and for jax.export: a plain call.
Where XLA splits the program: a call with a rule for that. On explicit mesh
axes: a shard_map over them. On a platform without a handler: the reference.
"""

from collections.abc import Callable, Collection, Sequence
import functools
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core
from jax.interpreters import mlir
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit import sharding
from jax_ffi_ops.kit.dtypes import keeping_64_bits
from jax_ffi_ops.kit.layout import Layout
from jax_ffi_ops.kit.library import Library
from jax_ffi_ops.kit.value import Value

# Where XLA replays calls, and a handler's memory has to outlive them.
_WORKSPACE_PLATFORMS = ("cuda",)


class Handler(NamedTuple):
  """What a primitive is lowered to where it has a handler.

  Attributes:
    library: has the target.
    target: the FFI target.
    platforms: where there is a handler.
    declined: function of the platform, the avals of the operands and the params
      that returns why the handler is not used, or None.
    workspaces: function of avals and params; what it returns are more results
      of the handler for CUDA.
    in_full: function of avals and params that returns the primitive in terms of
      itself with operands that have all loops, or None where these do.
  """

  library: Library
  target: str
  platforms: Collection[str]
  declined: Callable[..., str | None]
  workspaces: Callable[..., list[jax.core.ShapedArray]] | None = None
  in_full: Callable[..., Callable[..., Any] | None] | None = None


def register(
    primitive: jex_core.Primitive,
    layout: Callable[..., Layout],
    reference: Callable[..., Sequence[jax.Array]],
    handler: Handler | None = None,
) -> None:
  """Registers how a primitive is lowered.

  Args:
    primitive: called with operands and params (attributes, and what the kit
      adds).
    layout: function of the avals of the operands and the params.
    reference: what the primitive does in terms of others.
    handler: what does it where it can.
  """

  def in_other_terms(ctx, *operands, **params):
    function = functools.partial(reference, **params)
    return _lower(ctx, function, layout, operands, params)

  def call(platform, ctx, *operands, **params):
    if handler.declined(platform, ctx.avals_in, **params) is not None:
      return in_other_terms(ctx, *operands, **params)
    devices = _jax.automatic_devices(ctx)
    if sharding.explicit_mesh(ctx.avals_in) is not None:
      bind = functools.partial(primitive.bind, **params)
      return _lower(ctx, bind, layout, operands, params)
    if devices is not None:
      function = sharding.partitioned(
          functools.partial(primitive.bind, **params),
          layout(ctx.avals_in, **params),
          _jax.automatic_mesh(ctx, devices),
          handler.target,
          params,
      )
      return mlir.lower_fun(function, multiple_results=True)(ctx, *operands)
    # Here, and not before: only what one device has is copied.
    in_full = handler.in_full and handler.in_full(ctx.avals_in, **params)
    if in_full is not None:
      return mlir.lower_fun(in_full, multiple_results=True)(ctx, *operands)
    handler.library.ensure_registered(handler.target)
    results = ctx.avals_out
    if handler.workspaces is not None and platform in _WORKSPACE_PLATFORMS:
      memory = handler.workspaces(ctx.avals_in, **params)
      ctx = ctx.replace(avals_out=[*results, *memory])
    rule = jax.ffi.ffi_lowering(handler.target)
    return rule(ctx, *operands, **_plain(params))[: len(results)]

  mlir.register_lowering(primitive, _rule(in_other_terms))
  if handler is None or not handler.platforms:
    return
  for platform in handler.platforms:
    mlir.register_lowering(
        primitive,
        _rule(functools.partial(call, platform)),
        platform=platform,
    )
  _jax.requires_devices_during_lowering(primitive)


def _rule(lower):
  def rule(ctx, *operands, **params):
    with keeping_64_bits(ctx.avals_in):
      return lower(ctx, *operands, **params)

  return rule


def _lower(ctx, function, layout, operands, params):
  if sharding.explicit_mesh(ctx.avals_in) is not None:
    function = sharding.over_explicit_axes(
        function, layout(ctx.avals_in, **params), ctx.avals_in
    )
  return mlir.lower_fun(function, multiple_results=True)(ctx, *operands)


def _plain(params):
  """Returns the attributes of a handler."""
  return {
      name: value.value if isinstance(value, Value) else np.int64(value)
      for name, value in params.items()
      if isinstance(value, Value | int)
  }
