# SPDX-License-Identifier: Apache-2.0
"""What all primitives have in common: how they are made, called and typed."""

from collections.abc import Callable, Sequence
import functools
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.interpreters import ad
from jax.interpreters import batching
from jax.interpreters import xla
import jax.numpy as jnp

from jax_ffi_ops.kit import layout as layouts
from jax_ffi_ops.kit import sharding
from jax_ffi_ops.kit.dtypes import in_64_bits_if_given


def aval(x: Any) -> jax.core.ShapedArray:
  """Returns the type of an array, of a type, or of what a rule is to find."""
  if isinstance(x, jax.core.ShapedArray):
    return x
  return x.aval if ad.is_undefined_primal(x) else jax.typeof(x)


def without(x: Any, axis: int | None) -> jax.ShapeDtypeStruct:
  """Returns shape and dtype without a batch axis."""
  shape = x.shape if axis is None else (*x.shape[:axis], *x.shape[axis + 1 :])
  return jax.ShapeDtypeStruct(shape, x.dtype)


def primitive(
    name: str,
    avals: Callable[..., Any],
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
) -> jex_core.Primitive:
  """Makes a primitive with several results; `avals` says what these are."""
  made = jex_core.Primitive(name)
  made.multiple_results = True
  made.def_impl(functools.partial(xla.apply_primitive, made))
  made.def_abstract_eval(in_64_bits_if_given(avals))
  ad.primitive_jvps[made] = in_64_bits_if_given(jvp)
  batching.primitive_batchers[made] = in_64_bits_if_given(batch)
  if transpose is not None:
    ad.primitive_transposes[made] = in_64_bits_if_given(transpose)
  return made


def bind(
    called: jex_core.Primitive, operands: Sequence[jax.Array], params: Any
) -> list[jax.Array]:
  """Calls a primitive; inside a shard_map its operands vary alike."""
  return called.bind(*sharding.vary_alike(operands), **params)


def avals(
    results: Sequence[Any],
    operands: Sequence[Any],
    layout: Callable[[], layouts.Layout],
) -> list[jax.core.ShapedArray]:
  """Returns the types of results; all operands vary over the same axes."""
  mesh = sharding.explicit_mesh(operands)
  if mesh is None:
    mesh = operands[0].sharding.mesh
    specs = [
        jax.sharding.PartitionSpec(*(None,) * len(parts.shape))
        for parts, _ in results
    ]
  else:
    layout = layout()
    split = sharding.explicit_split(layout, operands)
    specs = [layouts.spec(axes, split) for axes in layout.results]
  return [
      operands[0].update(
          shape=parts.shape,
          dtype=jnp.dtype(dtype),
          weak_type=False,
          sharding=jax.sharding.NamedSharding(mesh, spec),
      )
      for (parts, dtype), spec in zip(results, specs, strict=True)
  ]


def tangents(
    function: Callable[..., Any], operands: Sequence[Any], given: Sequence[Any]
) -> list[jax.Array]:
  """Returns the tangents of a function, given those of its operands."""
  given = [ad.instantiate_zeros(t) for t in given]
  return list(jax.jvp(function, list(operands), given)[1])
