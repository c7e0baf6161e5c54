# SPDX-License-Identifier: Apache-2.0
"""Calls of handlers that are no generalized ufuncs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from jax_ffi_ops.kit.declare import attributes as attribute_types
from jax_ffi_ops.kit.declare import author_functions
from jax_ffi_ops.kit.load.library import Library


def call(
    target: str,
    *,
    library: Library,
    results: Callable[..., Any],
    attributes: Mapping[str, Any] | None = None,
    has_side_effect: bool = False,
    input_output_aliases: Mapping[int, int] | None = None,
    input_layouts: Sequence[Sequence[int] | None] | None = None,
    output_layouts: Sequence[Any] | None = None,
    vmap_method: str | None = None,
) -> Callable[..., Any]:
  """Wraps one FFI target: for whole-array, in-place or effectful handlers.

  It is jax.ffi.ffi_call with a checked library and typed attributes. It has no
  derivatives, and XLA gathers operands that are split over devices. Use
  `kit.op` for generalized ufuncs.

  Args:
    target: name of the handler, in full.
    library: the shared object with the handler.
    results: function of the operands and attributes that returns a
      jax.ShapeDtypeStruct, or a tuple of them; `kit.abstract_token` for a
      token. Inside of jax.shard_map, of jax.typeof(operand), which knows over
      which axes values vary. An optional attribute that is left out is None.
    attributes: name to type: a NumPy scalar type, `bool` or `str`, `[type]` for
      an array, a mapping of names to types, or an Attribute.
    has_side_effect: whether calls must not be dropped or merged.
    input_output_aliases: a mapping from the index of an operand to the index of
      the result that uses its memory.
    input_layouts: the order of each operand's axes in memory, the one of the
      largest stride first: (1, 0) is column-major. None is row-major.
    output_layouts: the same for each result, or for the only one.
    vmap_method: how jax.vmap calls the handler, as jax.pure_callback describes
      it. By default it does not.

  Returns:
    A function of the operands (arrays) and attributes (keywords).

  Raises:
    TypeError: an attribute has no type that FFI knows.
    ImportError: the library lacks the handler, or this jaxlib does not accept
      it.
  """
  library.register(target)
  schema = attribute_types.schema(target, attributes)

  def function(*operands, **values):
    converted = attribute_types.convert(target, schema, values)
    plain = {
        name: converted[name].plain if name in converted else None
        for name in schema
    }
    for index, operand in enumerate(operands):
      try:
        jax.typeof(operand)
      except TypeError as error:
        raise TypeError(
            f"{target}: operand {index} must be an array, got {operand!r}."
        ) from error
    try:
      returned = results(*operands, **plain)
    except TypeError:
      author_functions.check_call(target, "results", results, operands, plain)
      raise
    library.ensure_registered(target)
    return jax.ffi.ffi_call(
        target,
        returned,
        has_side_effect=has_side_effect,
        input_output_aliases=dict(input_output_aliases or {}),
        input_layouts=input_layouts,
        output_layouts=output_layouts,
        vmap_method=vmap_method,
    )(*operands, **converted)

  function.__name__ = target
  return function
