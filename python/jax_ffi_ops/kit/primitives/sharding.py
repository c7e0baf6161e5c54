# SPDX-License-Identifier: Apache-2.0
"""Calls over several devices: on shards, and over explicit mesh axes."""

from collections.abc import Callable, Sequence
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import NamedSharding

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.calls.base import Call
from jax_ffi_ops.kit.calls.loop_axes import LoopAxes
from jax_ffi_ops.kit.calls.loop_axes import Placement
from jax_ffi_ops.kit.calls.loop_axes import spec

_Function = Callable[..., Sequence[jax.Array]]


def vary_alike(operands: Sequence[jax.Array]) -> list[jax.Array]:
  """Casts operands to vary over the same manual mesh axes.

  The cast is what makes the transpose of a shard_map sum the cotangents of an
  operand that its devices share.
  """
  varying = [_jax.varying_axes(jax.typeof(x)) for x in operands]
  everything = frozenset().union(*varying)
  return [
      jax.lax.pcast(x, tuple(everything - own), to="varying")
      if everything - own
      else x
      for x, own in zip(operands, varying)
  ]


def on_shards(
    function: _Function, on_pieces: _Function, axes: LoopAxes, split: Placement
) -> _Function:
  """Returns a function of one device's shards, with sums over all devices.

  Args:
    function: of shards with whole cores.
    on_pieces: of shards, and of the mesh axes that the core is split over.
    axes: of the call.
    split: how it is split.
  """
  if axes.core in split:
    function = functools.partial(on_pieces, over=split[axes.core])

  def on_each_device(*shards):
    outputs = []
    # Else the reference's derivatives would be sums over devices already.
    for index, output in enumerate(function(*vary_alike(shards))):
      names = [n for d in axes.summed(index) for n in split.get(d, ())]
      outputs.append(_psum(output, tuple(names)) if names else output)
    return tuple(outputs)

  return on_each_device


def _psum(x, names):
  kinds = jax.sharding.get_abstract_mesh().axis_types
  if x.dtype.itemsize < 4 and any(kind != AxisType.Manual for kind in kinds):
    # XLA:CPU aborts the process for one of 16 bits beside automatic axes.
    return jax.lax.psum(x.astype(jnp.float32), names).astype(x.dtype)
  return jax.lax.psum(x, names)


def explicit_mesh(avals: Sequence[Any]) -> Any | None:
  """Returns the mesh of values whose types say how they are split, or None."""
  for aval in avals:
    if explicit_axes(aval.sharding.mesh):
      return aval.sharding.mesh
  return None


def explicit_axes(mesh: Any) -> frozenset[str]:
  """Returns the names of a mesh's explicit axes."""
  return frozenset(
      name
      for name, kind in zip(mesh.axis_names, mesh.axis_types)
      if kind == AxisType.Explicit
  )


def like(x: jax.Array, aval: Any) -> jax.Array:
  """Returns `x` split as a type says, if it says so at all."""
  wanted = aval.sharding
  if not explicit_axes(wanted.mesh) or jax.typeof(x).sharding == wanted:
    return x
  return jax.sharding.reshard(x, wanted)


def explicit_split(loop_axes: LoopAxes, avals: Sequence[Any]):
  """Returns how the types of operands say that a call is split."""
  mesh = explicit_mesh(avals)
  if mesh is None:
    return {}
  return loop_axes.split(
      mesh, [a.shape for a in avals], [a.sharding.spec for a in avals]
  )


def over_explicit_axes(
    function: _Function, on_pieces: _Function, call: Call, avals: Sequence[Any]
) -> _Function:
  """Returns a function in a shard_map over its operands' explicit axes."""
  mesh = explicit_mesh(avals)
  loop_axes = call.loop_axes(avals)
  split = explicit_split(loop_axes, avals)
  in_specs = tuple(spec(axes, split) for axes in loop_axes.operands)
  mapped = jax.shard_map(
      on_shards(function, on_pieces, loop_axes, split),
      mesh=mesh,
      in_specs=in_specs,
      out_specs=tuple(spec(axes, split) for axes in loop_axes.results),
      axis_names=explicit_axes(mesh),
      # What devices compute of all their states varies, as far as JAX knows.
      check_vma=loop_axes.core not in split,
  )

  def run(*operands):
    return mapped(
        *(
            jax.sharding.reshard(x, NamedSharding(mesh, spec))
            for x, spec in zip(operands, in_specs, strict=True)
        )
    )

  return run
