# SPDX-License-Identifier: Apache-2.0
"""What the kit needs of jax and jax does not export, each with its reason.

Tried with jax 0.9.2, 0.10.2 and 0.12.0.1.
"""

from collections.abc import Callable, Sequence
import ctypes
from typing import Any

import jax
from jax._src import core
from jax._src import dispatch
from jax._src import sharding_impls
from jax._src.interpreters import mlir
import jax.extend.core
from jaxlib import xla_client
from jaxlib.mlir import ir
import numpy as np

# The type of tokens: jax.core has it up to jax 0.10, jax.ffi from 0.12 on.
abstract_token = core.abstract_token


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

  jaxlib keeps what is registered before a platform has a backend in a list of
  its own. A backend of a plugin does not say what it has.
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


def automatic_devices(ctx) -> Sequence[jax.Device] | None:
  """Returns the devices that XLA is to partition a program over, or None.

  None where a lowering is for one device, for the inside of a shard_map or
  pmap, or for jax.export: its program would not find a Python callback again.
  `ctx` is the context of a lowering rule.
  """
  axis_context = ctx.module_context.axis_context
  if not isinstance(axis_context, sharding_impls.ShardingContext):
    return None
  if ctx.module_context.lowering_parameters.for_export:
    return None
  devices = axis_context.device_assignment
  return devices if devices is not None and len(devices) > 1 else None


def automatic_mesh(ctx, devices: Sequence[jax.Device]) -> jax.sharding.Mesh:
  """Returns a mesh to read XLA's shardings with.

  Its axes are the prime factors of the mesh's: XLA may split an array over a
  part of an axis, say a reshaped one, and the user's names cannot say so.
  """
  # Without operands on a mesh it is that of jax.set_mesh.
  abstract = ctx.module_context.axis_context.abstract_mesh
  if abstract is None or abstract.empty:
    abstract = jax.sharding.get_abstract_mesh()
  sizes = (len(devices),) if abstract.empty else abstract.axis_sizes
  factors = [factor for size in sizes for factor in _prime_factors(size)]
  return jax.sharding.Mesh(
      np.array(devices).reshape(factors),
      tuple(f"factor{i}" for i in range(len(factors))),
  )


def _prime_factors(size):
  factors = []
  factor = 2
  while size > 1:
    if size % factor:
      factor += 1
    else:
      factors.append(factor)
      size //= factor
  return factors


def spec_on_mesh(
    sharding: jax.sharding.Sharding, mesh: jax.sharding.Mesh
) -> jax.sharding.PartitionSpec:
  """Returns how XLA splits an array, as the partitioner tells it."""
  try:
    return sharding_impls.parse_flatten_op_sharding(
        sharding._to_xla_hlo_sharding(0), mesh
    )[0]
  except ValueError:  # Over the axes of another mesh.
    return jax.sharding.PartitionSpec()
