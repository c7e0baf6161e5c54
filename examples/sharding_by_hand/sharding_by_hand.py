# SPDX-License-Identifier: Apache-2.0
"""y = x * w on several devices, in each of the ways that jax has for it.

x is float32[n, d] and may be split by rows; w is float32[d].
"""

import functools
import pathlib

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.extend.mlir import ir
from jax.interpreters import mlir
from jax.interpreters import xla
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from jax_ffi_ops import kit

_FORWARD, _BACKWARD = "example_scale_fwd", "example_scale_gradient"
_LIBRARY = kit.Library(
    pathlib.Path(__file__).with_name("libsharding_by_hand_ext.so")
)

# jax.typeof says, too, that results differ between the devices of a shard_map.
_forward = kit.call(
    _FORWARD, library=_LIBRARY, results=lambda x, w: jax.typeof(x)
)
_backward = kit.call(
    _BACKWARD,
    library=_LIBRARY,
    results=lambda x, w, dy: (jax.typeof(x), jax.typeof(w)),
)


def _with_gradient(forward, backward):
  function = jax.custom_vjp(lambda x, w: forward(x, w))
  function.defvjp(
      lambda x, w: (forward(x, w), (x, w)),
      lambda kept, dy: tuple(backward(*kept, dy)),
  )
  return function


# 1. XLA knows nothing of the call: it gathers what is split, and each device
#    computes everything.
plain = _with_gradient(_forward, _backward)


# 2. The caller splits by hand: each device calls the handler with its rows.
def in_shard_map(mesh: jax.sharding.Mesh):
  """Returns a function of x and w, with x split over the axis "rows"."""

  def on_each_device(x, w):
    # The transpose of this cast is the sum of dw over the devices.
    return plain(x, jax.lax.pcast(w, "rows", to="varying"))

  return jax.shard_map(
      on_each_device,
      mesh=mesh,
      in_specs=(P("rows"), P()),
      out_specs=P("rows"),
  )


# 3. XLA asks how to split the call, and what each device then does.
def _rows(mesh, x):
  """Returns the axes that rows are split over; the shardings of x and w."""
  axes = x.sharding.spec[0] if len(x.sharding.spec) else None
  return axes, NamedSharding(mesh, P(axes, None)), NamedSharding(mesh, P(None))


def _partition_forward(mesh, operands, result):
  del result
  _, by_rows, whole = _rows(mesh, operands[0])
  return mesh, _forward, by_rows, (by_rows, whole)


def _partition_backward(mesh, operands, results):
  del results
  axes, by_rows, whole = _rows(mesh, operands[0])

  def on_each_device(x, w, dy):
    dx, dw = _backward(x, w, dy)
    return dx, dw if axes is None else jax.lax.psum(dw, axes)

  return mesh, on_each_device, (by_rows, whole), (by_rows, whole, by_rows)


_partitioned_forward = custom_partitioning(_forward)
_partitioned_forward.def_partition(
    partition=_partition_forward,
    sharding_rule="n d, d -> n d",
    need_replication_factors=("d",),
)
_partitioned_backward = custom_partitioning(_backward)
_partitioned_backward.def_partition(
    partition=_partition_backward,
    sharding_rule="n d, d, n d -> n d, d",
    need_replication_factors=("d",),
)
partitioned = _with_gradient(_partitioned_forward, _partitioned_backward)

# 4. XLA knows that the call does the same with some of the leading dimensions,
#    which all operands need: w is copied to each row.
jax.ffi.register_ffi_target_as_batch_partitionable(_FORWARD)
scale_p = Primitive("scale")
scale_p.def_impl(functools.partial(xla.apply_primitive, scale_p))
scale_p.def_abstract_eval(lambda x, w: x)


def _lower(ctx, x, w):
  n, d = ctx.avals_in[0].shape
  rule = f"#sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {{i={n}, j={d}}}>"
  attributes = {
      "mhlo.frontend_attributes": mlir.ir_attribute({"num_batch_dims": "1"}),
      "sdy.sharding_rule": ir.Attribute.parse(rule),
  }
  return jax.ffi.ffi_lowering(_FORWARD, extra_attributes=attributes)(ctx, x, w)


mlir.register_lowering(scale_p, _lower, platform="cpu")


def batch_partitionable(x: jax.Array, w: jax.Array) -> jax.Array:
  """Returns x * w; without derivatives."""
  return scale_p.bind(x, jnp.broadcast_to(w, x.shape))


# 5. The kit does all of this.
op = kit.op(
    "example_scale",
    library=_LIBRARY,
    signature="(d),(d)->(d)",
    reference=lambda x, w: x * w,
    dtypes=("float32",),
)
