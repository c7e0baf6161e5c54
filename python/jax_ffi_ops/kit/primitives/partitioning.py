# SPDX-License-Identifier: Apache-2.0
"""Calls that XLA splits over devices, with the rules by which it does so.

XLA asks in a callback how to split a call. Inside of a shard_map over some axes
of a mesh it asks once, for all groups of devices that the other axes make. The
devices of a group have numbers there, in an order that depends on the shardings
of the call. So such a call has one more operand, a compass, which is split over
these axes in their own order: its sharding says which number a device has.
"""

from collections.abc import Callable, Sequence
import math
from typing import Any

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.experimental.xla_metadata import set_xla_metadata
from jax.interpreters import mlir
import jax.numpy as jnp
from jax.sharding import AbstractMesh
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.calls.base import Call
from jax_ffi_ops.kit.calls.loop_axes import LoopAxes
from jax_ffi_ops.kit.calls.loop_axes import spec
from jax_ffi_ops.kit.primitives import mesh_axes
from jax_ffi_ops.kit.primitives import sharding

_Function = Callable[..., Sequence[jax.Array]]


def partitioned(
    bind: _Function,
    on_pieces: _Function,
    call: Call,
    avals: Sequence[Any],
    mesh: AbstractMesh,
) -> _Function:
  """Returns a call with the callback by which XLA splits it over `mesh`.

  Args:
    bind: the call, on one device.
    on_pieces: the call of pieces, given the mesh axes that the core is split
      over.
    call: its parameter.
    avals: of its arrays.
    mesh: see above.
  """
  loop_axes = call.loop_axes(avals)
  x64 = jax.config.jax_enable_x64
  count = len(avals)
  all_axes, automatic = mesh_axes.prime_factors(mesh)
  is_partly_manual = AxisType.Manual in mesh.axis_types
  compass_axes = mesh_axes.automatic(mesh) if is_partly_manual else {}

  def on_each_device(split):
    function = sharding.on_shards(bind, on_pieces, loop_axes, split)

    def run(*shards):
      # XLA calls back in a thread of its own, without jax.enable_x64, or, with
      # jax 0.12, in this one, where the axes of jax.set_mesh would be explicit.
      no_mesh = AbstractMesh((), ())
      with jax.enable_x64(x64), jax.sharding.use_abstract_mesh(no_mesh):
        return function(*shards[:count])

    return run

  def partition(_, operands, results):
    order = automatic
    if compass_axes:
      numbers = _jax.device_numbers(operands[count])
      order = mesh_axes.in_order(automatic, numbers)
    # Without an order, nothing is split.
    own = mesh_axes.mesh(order or {"all": math.prod(automatic.values())})
    arrays = (*operands[:count], *results)
    specs = [_jax.spec_on_mesh(x.sharding, own) for x in arrays if order]
    split = loop_axes.split(own, [x.shape for x in arrays], specs)
    shardings = [
        NamedSharding(own, spec(axes, split))
        for axes in (*loop_axes.operands, *loop_axes.results)
    ]
    return (
        mesh_axes.mesh(all_axes),
        on_each_device(split),
        tuple(shardings[count:]),
        (*shardings[:count], *(x.sharding for x in operands[count:])),
    )

  function = custom_partitioning(lambda *x: tuple(bind(*x[:count])))
  function.def_partition(
      partition=partition,
      sharding_rule=_rule(loop_axes, len(compass_axes)),
      decode_shardings=False,  # It is done with a better mesh above.
  )

  def run(*operands):
    if compass_axes:
      operands = (*operands, _compass(mesh, compass_axes))
    # The target and the attributes are in a Python closure: without this,
    # programs that differ in them look the same to the compilation cache.
    with set_xla_metadata(ffi_target=call.target, ffi_attributes=repr(call)):
      return function(*operands)

  return run


def batch_attributes(
    loop_axes: LoopAxes, operands: Sequence[Any], results: Sequence[Any]
) -> dict[str, Any]:
  """Returns the attributes by which XLA splits a custom call without asking.

  A program of jax.export cannot call back. XLA then splits the first loop
  dimensions that all operands and results have: splitting others would give
  wrong results.

  Args:
    loop_axes: of the call.
    operands: what the handler receives.
    results: likewise.
  """
  loop_axes = loop_axes.with_whole_cores
  rank = loop_axes.batch_rank
  shapes = [x.shape for x in (*operands, *results)]
  if (
      rank == 0
      or len(results) > len(loop_axes.results)  # Workspaces have no loops.
      or not all(isinstance(size, int) for shape in shapes for size in shape)
  ):
    return {}
  batch = mlir.ir_attribute({"num_batch_dims": str(rank)})
  rule = _jax.sharding_rule(_rule(loop_axes), operands, results)
  return {"mhlo.frontend_attributes": batch, "sdy.sharding_rule": rule}


def _compass(mesh, axes):
  spread = NamedSharding(mesh, PartitionSpec(*axes))
  with jax.sharding.use_abstract_mesh(mesh):
    return jax.lax.with_sharding_constraint(
        jnp.zeros(tuple(axes.values()), np.bool_), spread
    )


def _rule(loop_axes, compass_rank=0):
  """Returns the rule for Shardy: one factor per loop dimension."""
  count = 0

  def factors(axes):
    nonlocal count
    names = []
    for d in axes:
      count += d is None
      names.append(f"u{count}" if d is None else f"b{d}")
    return " ".join(names)

  compass = [(None,) * compass_rank] if compass_rank else []
  operands = ", ".join(map(factors, [*loop_axes.operands, *compass]))
  return f"{operands} -> {', '.join(map(factors, loop_axes.results))}"
