# SPDX-License-Identifier: Apache-2.0
"""From primitives to custom calls: where an op is traced decides how.

On one device, inside a shard_map or pmap, and for jax.export: a plain call.
Where XLA splits the program: a call with a rule for that. On explicit mesh
axes: a shard_map over them. On a platform without a handler: the reference.
"""

from collections.abc import Callable, Collection
import functools

import jax
from jax.extend import core as jex_core
from jax.interpreters import mlir
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit import sharding
from jax_ffi_ops.kit.attributes import Value
from jax_ffi_ops.kit.layout import Layout
from jax_ffi_ops.kit.library import Library

# Where XLA replays calls, and a handler's memory has to outlive them.
_WORKSPACE_PLATFORMS = ("cuda",)


def register(
    primitive: jex_core.Primitive,
    layout: Callable[..., Layout],
    reference: Callable[..., tuple[jax.Array, ...]],
    library: Library | None = None,
    target: str | None = None,
    platforms: Collection[str] = (),
    workspace: Callable[..., jax.ShapeDtypeStruct] | None = None,
) -> None:
  """Registers how a primitive is lowered.

  Args:
    primitive: called with operands and params (attributes, and possibly
      batch_rank).
    layout: function of the avals of the operands and the params.
    reference: what the primitive does in terms of others.
    library: has the target.
    target: FFI target for `platforms`.
    platforms: where there is a handler.
    workspace: function of the operands and results; what it returns is one more
      result of the handler for CUDA.
  """

  def in_other_terms(ctx, *operands, **params):
    function = functools.partial(reference, **params)
    return _lower(ctx, function, layout, operands, params)

  def call(platform, ctx, *operands, **params):
    devices = _jax.automatic_devices(ctx)
    if sharding.explicit_mesh(ctx.avals_in) is not None:
      bind = functools.partial(primitive.bind, **params)
      return _lower(ctx, bind, layout, operands, params)
    if devices is not None:
      function = sharding.partitioned(
          functools.partial(primitive.bind, **params),
          layout(ctx.avals_in, **params),
          _jax.automatic_mesh(ctx, devices),
          target,
          params,
      )
      return mlir.lower_fun(function, multiple_results=True)(ctx, *operands)
    library.ensure_registered(target)
    results = ctx.avals_out
    if workspace is not None and platform in _WORKSPACE_PLATFORMS:
      memory = workspace(ctx.avals_in, results)
      memory = jax.core.ShapedArray(memory.shape, memory.dtype)
      ctx = ctx.replace(avals_out=[*results, memory])
    rule = jax.ffi.ffi_lowering(target)
    return rule(ctx, *operands, **_plain(params))[: len(results)]

  mlir.register_lowering(primitive, in_other_terms)
  for platform in platforms:
    mlir.register_lowering(
        primitive, functools.partial(call, platform), platform=platform
    )
  if platforms:
    _jax.requires_devices_during_lowering(primitive)


def _lower(ctx, function, layout, operands, params):
  if sharding.explicit_mesh(ctx.avals_in) is not None:
    function = sharding.over_explicit_axes(
        function, layout(ctx.avals_in, **params), ctx.avals_in
    )
  return mlir.lower_fun(function, multiple_results=True)(ctx, *operands)


def _plain(params):
  return {
      name: value.value if isinstance(value, Value) else np.int64(value)
      for name, value in params.items()
  }
