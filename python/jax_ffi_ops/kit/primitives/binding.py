# SPDX-License-Identifier: Apache-2.0
"""How all primitives are made, called and typed.

Each has one parameter, `call`: see calls/base.py.
"""

from collections.abc import Callable, Sequence
import functools
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.interpreters import ad
from jax.interpreters import batching
from jax.interpreters import xla
import jax.numpy as jnp

from jax_ffi_ops.kit.calls.base import Call
from jax_ffi_ops.kit.calls.base import HandlerCall
from jax_ffi_ops.kit.calls.loop_axes import spec
from jax_ffi_ops.kit.dtypes import in_64_bits_if_given
from jax_ffi_ops.kit.primitives import sharding


def aval(x: Any) -> jax.core.ShapedArray:
  """Returns the type of an array, of a type, or of an ad.UndefinedPrimal."""
  if isinstance(x, jax.core.ShapedArray):
    return x
  return x.aval if ad.is_undefined_primal(x) else jax.typeof(x)


def primitive(
    name: str,
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
) -> jex_core.Primitive:
  """Makes a primitive with several results."""
  made = jex_core.Primitive(name)
  made.multiple_results = True
  made.def_impl(functools.partial(xla.apply_primitive, made))
  made.def_abstract_eval(in_64_bits_if_given(_result_avals))
  ad.primitive_jvps[made] = in_64_bits_if_given(jvp)
  batching.primitive_batchers[made] = in_64_bits_if_given(batch)
  if transpose is not None:
    ad.primitive_transposes[made] = in_64_bits_if_given(transpose)
  return made


def bind(
    called: jex_core.Primitive, operands: Sequence[jax.Array], call: Call
) -> list[jax.Array]:
  """Calls a primitive; inside a shard_map its operands vary alike."""
  return called.bind(*sharding.vary_alike(operands), call=call)


def _result_avals(*operands: Any, call: Call) -> list[jax.core.ShapedArray]:
  """Returns the types of results; all operands vary over the same axes."""
  if isinstance(call, HandlerCall):
    call.check_loops(operands)
  results = call.results(operands).values()
  mesh = sharding.explicit_mesh(operands)
  if mesh is None:
    mesh = operands[0].sharding.mesh
    specs = [
        jax.sharding.PartitionSpec(*(None,) * len(x.parts.shape))
        for x in results
    ]
  else:
    axes = call.loop_axes(operands)
    split = sharding.explicit_split(axes, operands)
    specs = [spec(own, split) for own in axes.results]
  return [
      operands[0].update(
          shape=x.parts.shape,
          dtype=jnp.dtype(x.dtype),
          weak_type=False,
          sharding=jax.sharding.NamedSharding(mesh, spec_),
      )
      for x, spec_ in zip(results, specs, strict=True)
  ]


def tangents(
    function: Callable[..., Any], operands: Sequence[Any], given: Sequence[Any]
) -> list[jax.Array]:
  """Returns the tangents of a function, given those of its operands."""
  given = [ad.instantiate_zeros(t) for t in given]
  return list(jax.jvp(function, list(operands), given)[1])
