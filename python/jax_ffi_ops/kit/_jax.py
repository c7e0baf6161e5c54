# SPDX-License-Identifier: Apache-2.0
"""What the kit needs of jax and jax does not export, each with its reason.

Tried with jax 0.9.2, 0.10.2 and 0.12.0.1. docs/compatibility.md lists the names.
"""

from collections.abc import Callable, Sequence
import ctypes
import dataclasses
import traceback
from typing import Any

import jax
from jax._src import core
from jax._src import custom_partitioning_sharding_rule as rules
from jax._src import dispatch
from jax._src import sharding_impls
from jax._src import source_info_util
from jax._src.interpreters import mlir
import jax.extend.core
from jax.extend.mlir import ir
from jax.sharding import AxisType
from jaxlib import xla_client
import numpy as np

# The type of tokens: jax.core has it up to jax 0.10, jax.ffi from 0.12 on.
abstract_token = core.abstract_token

# What comparisons of symbolic sizes raise: jax.errors has it from jax
# 0.10 on.
InconclusiveSize = core.InconclusiveDimensionOperation


def requires_devices_during_lowering(
    primitive: jax.extend.core.Primitive,
) -> None:
  """Has jax give the device list to the lowering of `primitive`.

  A lowering through custom_partitioning needs it, and jax looks for the
  primitives of a program in this set before it lowers it.
  """
  dispatch.prim_requires_devices_during_lowering.add(primitive)


def lower_attributes_of(type_: type[Any], value: Callable[[Any], Any]) -> None:
  """Has jax lower an attribute of a type of ours as the value that it holds.

  jax.ffi.ffi_call takes attributes that are hashable and have a handler.
  """

  def lower(attribute):
    plain = value(attribute)
    if isinstance(plain, np.uint64):  # MLIR's bindings take it as signed.
      unsigned = mlir.dtype_to_ir_type(plain.dtype)
      return ir.IntegerAttr.get(unsigned, int(plain.view(np.int64)))
    return mlir.ir_attribute(plain)

  mlir.register_attribute_handler(type_, lower)


def registered_handler(target: str, platform: str) -> int | None:
  """Returns the address of the handler that an FFI target has, if any.

  Until a platform has a backend, jaxlib keeps its targets in a separate list.
  The backend of a plugin cannot be asked which targets it has.
  """
  name = xla_client.xla_platform_names.get(platform, platform)
  # Version 0 is another interface, with another list of targets.
  found = [
      handler
      for waiting, handler, version, _ in xla_client._custom_callback.get(
          name, ()
      )
      if (waiting, version) == (target, 1)
  ]
  found.append(xla_client.custom_call_targets(name).get(target))
  capsule = found[0]["execute"] if isinstance(found[0], dict) else found[0]
  if capsule is None:
    return None
  capsule_name = ctypes.pythonapi.PyCapsule_GetName
  capsule_name.restype = ctypes.c_char_p
  capsule_name.argtypes = (ctypes.py_object,)
  pointer = ctypes.pythonapi.PyCapsule_GetPointer
  pointer.restype = ctypes.c_void_p
  pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
  return pointer(capsule, capsule_name(capsule))


def varying_axes(aval: jax.core.ShapedArray) -> frozenset[str]:
  """Returns the manual mesh axes (of shard_map) that a value varies over.

  The type of a value has them under another name since jax 0.10.
  """
  if hasattr(aval, "mat"):
    return frozenset(aval.mat.varying)
  return frozenset(aval.vma)


def automatic_mesh(ctx) -> jax.sharding.AbstractMesh | None:
  """Returns the mesh that XLA is to partition a program over, or None.

  Its manual axes are those of a shard_map around the call. None where XLA has
  no axis: a lowering is for one device, or for the inside of a pmap or of a
  shard_map over all axes. `ctx` is the context of a lowering rule.
  """
  axis_context = ctx.module_context.axis_context
  # That of jax.set_mesh or of a shard_map. The context of a nested one has only
  # its own axes, with jax 0.9.2.
  mesh = jax.sharding.get_abstract_mesh()
  if isinstance(axis_context, sharding_impls.ShardingContext):
    own = axis_context.abstract_mesh
    if own is not None and not own.empty:
      mesh = own  # of the operands
    if mesh.size != axis_context.num_devices:
      mesh = jax.sharding.AbstractMesh((axis_context.num_devices,), ("all",))
  elif not isinstance(axis_context, sharding_impls.SPMDAxisContext):
    return None
  manual, automatic = AxisType.Manual, AxisType.Auto
  kinds = [x if x == manual else automatic for x in mesh.axis_types]
  if all(x == manual or n == 1 for x, n in zip(kinds, mesh.axis_sizes)):
    return None
  return jax.sharding.AbstractMesh(
      mesh.axis_sizes, mesh.axis_names, tuple(kinds)
  )


def is_exported(ctx) -> bool:
  """Returns whether a lowering is one of jax.export."""
  return ctx.module_context.lowering_parameters.for_export


def calls_back(ctx) -> bool:
  """Returns whether XLA can ask in a callback how to split a lowering.

  A program of jax.export would not find the callback again, and
  custom_partitioning refuses one that is lowered without devices.
  """
  if is_exported(ctx):
    return False
  axis_context = ctx.module_context.axis_context
  return getattr(axis_context, "device_assignment", ()) is not None


def with_devices(ctx):
  """Returns the context of a lowering rule with devices in its mesh.

  custom_partitioning's rule counts them, which fails where a shard_map has
  the mesh of types. It looks at none.
  """
  axis_context = ctx.module_context.axis_context
  mesh = getattr(axis_context, "mesh", None)
  if not isinstance(mesh, jax.sharding.AbstractMesh):
    return ctx
  devices = np.full(mesh.axis_sizes, jax.devices()[0])
  mesh = jax.sharding.Mesh(devices, mesh.axis_names)
  axis_context = dataclasses.replace(axis_context, mesh=mesh)
  module_context = ctx.module_context.replace(axis_context=axis_context)
  return ctx.replace(module_context=module_context)


def device_numbers(array: jax.ShapeDtypeStruct) -> np.ndarray | None:
  """Returns XLA's number of the device that has each element of an array.

  None unless each has one.
  """
  hlo = array.sharding._to_xla_hlo_sharding(array.ndim)
  if tuple(hlo.tile_assignment_dimensions()) != array.shape:
    return None
  return np.array(hlo.tile_assignment_devices()).reshape(array.shape)


def sharding_rule(
    rule: str, operands: Sequence[Any], results: Sequence[Any]
) -> ir.Attribute:
  """Returns a rule of custom_partitioning as an attribute of other calls."""

  def types(avals):
    return [
        ir.RankedTensorType.get(x.shape, mlir.dtype_to_ir_type(x.dtype))
        for x in avals
    ]

  return rules.sdy_sharding_rule_to_mlir(
      rules.str_to_sdy_sharding_rule(rule), types(operands), types(results)
  )


def spec_on_mesh(
    sharding: jax.sharding.Sharding, mesh: jax.sharding.AbstractMesh
) -> jax.sharding.PartitionSpec:
  """Returns how XLA splits an array, as the partitioner tells it."""
  try:
    return sharding_impls.parse_flatten_op_sharding(
        sharding._to_xla_hlo_sharding(0), mesh
    )[0]
  except ValueError:  # Over the axes of another mesh.
    return jax.sharding.PartitionSpec()


def source_line(equation: jax.extend.core.JaxprEqn) -> str | None:
  """Returns where in the caller's code an equation was made: "f.py:12 (step)".

  None for one that jax made by itself, in a function that it keeps traced.
  Without folders: the text is the same wherever the code lies.
  """
  frame = source_info_util.user_frame(equation.source_info.traceback)
  if frame is None:
    return None
  return _place(frame.file_name, frame.start_line, frame.function_name)


def source_of_error(error: BaseException) -> str | None:
  """Returns the same of the innermost line of a caller that an error names."""
  found = None
  # The cause is where jax met the operation that fails in a derivative.
  for frame, line in traceback.walk_tb(
      (error.__cause__ or error).__traceback__
  ):
    code = frame.f_code
    if source_info_util.is_user_filename(code.co_filename):
      found = _place(code.co_filename, line, code.co_name)
  return found


def _place(path, line, function):
  name = path.rpartition("/")[2]
  return f"{name}:{line} ({function.split('.')[-1]})"


def prng_implementation(dtype: Any) -> Any:
  """Returns the functions behind keys of jax.random: of arrays of words."""
  return dtype._impl
