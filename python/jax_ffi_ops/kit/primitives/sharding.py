# SPDX-License-Identifier: Apache-2.0
"""Calls over several devices: split by XLA, or by explicit mesh axes."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.experimental.xla_metadata import set_xla_metadata
from jax.sharding import AxisType
from jax.sharding import NamedSharding

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.calls.base import Call
from jax_ffi_ops.kit.calls.loop_axes import LoopAxes
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


def on_shards(function: _Function, axes: LoopAxes, split) -> _Function:
  """Returns a function of one device's shards, with sums over all devices."""

  def on_each_device(*shards):
    outputs = []
    # Else the reference's derivatives would be sums over devices already.
    for index, output in enumerate(function(*vary_alike(shards))):
      names = [n for d in axes.summed(index) for n in split.get(d, ())]
      outputs.append(jax.lax.psum(output, tuple(names)) if names else output)
    return tuple(outputs)

  return on_each_device


def partitioned(
    bind: _Function,
    call: Call,
    avals: Sequence[Any],
    mesh: jax.sharding.Mesh,
) -> _Function:
  """Returns a call with the rule by which XLA may split it over `mesh`."""
  loop_axes = call.loop_axes(avals)
  x64 = jax.config.jax_enable_x64

  def on_one_device(*shards):
    # XLA calls back in a thread of its own, without jax.enable_x64, or, with
    # jax 0.12, in this one, where the axes of jax.set_mesh would be explicit.
    no_mesh = jax.sharding.AbstractMesh((), ())
    with jax.enable_x64(x64), jax.sharding.use_abstract_mesh(no_mesh):
      return bind(*shards)

  def partition(_, operands, results):
    arrays = (*operands, *results)
    specs = [_jax.spec_on_mesh(x.sharding, mesh) for x in arrays]
    split = loop_axes.split(mesh, [x.shape for x in arrays], specs)
    return (
        mesh,
        on_shards(on_one_device, loop_axes, split),
        tuple(NamedSharding(mesh, spec(a, split)) for a in loop_axes.results),
        tuple(NamedSharding(mesh, spec(a, split)) for a in loop_axes.operands),
    )

  function = custom_partitioning(lambda *operands: tuple(bind(*operands)))
  function.def_partition(
      partition=partition,
      sharding_rule=_rule(loop_axes),
      decode_shardings=False,  # It is done with a better mesh above.
  )

  def run(*operands):
    # The target and the attributes are in a Python closure: without this,
    # programs that differ in them look the same to the compilation cache.
    with set_xla_metadata(ffi_target=call.target, ffi_attributes=repr(call)):
      return function(*operands)

  return run


def _rule(loop_axes):
  """Returns the rule for Shardy: one factor per leading dimension."""
  count = 0

  def factors(axes):
    nonlocal count
    names = []
    for d in axes:
      count += d is None
      names.append(f"u{count}" if d is None else f"b{d}")
    return " ".join(names)

  operands = ", ".join(map(factors, loop_axes.operands))
  return f"{operands} -> {', '.join(map(factors, loop_axes.results))}"


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
    function: _Function, call: Call, avals: Sequence[Any]
) -> _Function:
  """Returns a function in a shard_map over its operands' explicit axes."""
  mesh = explicit_mesh(avals)
  loop_axes = call.loop_axes(avals)
  split = explicit_split(loop_axes, avals)
  in_specs = tuple(spec(axes, split) for axes in loop_axes.operands)
  mapped = jax.shard_map(
      on_shards(function, loop_axes, split),
      mesh=mesh,
      in_specs=in_specs,
      out_specs=tuple(spec(axes, split) for axes in loop_axes.results),
      axis_names=explicit_axes(mesh),
  )

  def run(*operands):
    return mapped(
        *(
            jax.sharding.reshard(x, NamedSharding(mesh, spec))
            for x, spec in zip(operands, in_specs, strict=True)
        )
    )

  return run
