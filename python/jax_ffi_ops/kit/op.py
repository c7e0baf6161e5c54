# SPDX-License-Identifier: Apache-2.0
"""Declares an op once; every JAX transformation follows."""

from collections.abc import Callable, Collection, Mapping, Sequence
import inspect
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import attributes as attribute_types
from jax_ffi_ops.kit import primitives
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.library import Library
from jax_ffi_ops.kit.signature import Signature

FLOATING = tuple(map(jnp.dtype, ("float16", "bfloat16", "float32", "float64")))

_ARRAYS = (jax.Array, np.ndarray, np.generic)

_DTypes = Collection[Any] | Mapping[str, Collection[Any]]
_declared: dict[str, "Op"] = {}


def accumulator(dtype: Any) -> np.dtype:
  """Returns the dtype in which sums over values of `dtype` are kept."""
  return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def op(
    name: str,
    *,
    library: Library,
    signature: str,
    results: Callable[..., Sequence[Any]] | None = None,
    residuals: int = 0,
    attributes: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | None = None,
    dtypes: _DTypes | None = None,
    parameters: Collection[str] = (),
    operands: Sequence[str] | None = None,
    workspace: Callable[..., jax.ShapeDtypeStruct] | None = None,
) -> "Op":
  """Declares an op that is a generalized ufunc.

  Args:
    name: a name for messages and programs; the handlers are the FFI targets
      `<name>_fwd` and, if the library has it, `<name>_bwd`.
    library: the shared object with the handlers.
    signature: core dimensions in NumPy's notation, such as "(d),(d)->(d),()".
      Any dimensions may lead these: all operands have the same ones, or none.
    results: function of the operands (anything with shape and dtype) and
      attributes that returns the dtypes of all results; by default that of the
      first operand.
    residuals: how many of the last results are only kept for the backward
      handler, and hidden from the caller.
    attributes: name to type: a NumPy scalar type, or an Attribute.
    reference: the definition in plain jax.numpy: a function of the operands,
      without loop dimensions, and attributes that returns all results. It is
      what other platforms run, and the source of all derivatives that have no
      handler.
    dtypes: allowed dtypes of all operands, or of each by its name.
    parameters: operands that calls give without loop dimensions.
    operands: names of the operands; by default those of the reference.
    workspace: function of the operands and of the results of a backward call
      (two sequences of what has shape and dtype). What it returns is one more
      result, the last, of the backward handler for CUDA: memory to work in. A
      handler has no other: a CUDA graph would replay with what is freed.

  Returns:
    A function of the operands (arrays) and attributes (keywords) that returns
    an array, or a tuple of them if the op has several visible results.

  Raises:
    ValueError: the signature is none, the number of results or residuals does
      not fit it, or there is an op of that name.
    TypeError: an attribute has no type that FFI knows.
    ImportError: the library lacks the forward handler, or this jaxlib does not
      accept it.
  """
  if name in _declared:
    raise ValueError(f"There is an op {name!r} already.")
  parsed = Signature.parse(signature)
  if not 0 <= residuals < len(parsed.results):
    raise ValueError(
        f"{name}: {residuals} residuals leave no result of {signature!r}."
    )
  names = _operand_names(name, parsed, operands, reference)
  unknown = set(parameters) - set(names)
  if isinstance(dtypes, Mapping):
    unknown |= dtypes.keys() - set(names)
  if unknown:
    raise ValueError(f"{name}: no operand is named {sorted(unknown)}.")
  schema = attribute_types.schema(name, attributes)
  forward = library.register(name + "_fwd")
  backward = library.register(name + "_bwd", required=False)
  declaration = Declaration(
      name=name,
      library=library,
      signature=parsed,
      operands=names,
      dtypes=tuple(_allowed(dtypes, operand) for operand in names),
      parameters=frozenset(parameters),
      results=results or (lambda x, *_, **__: (x.dtype,) * len(parsed.results)),
      residuals=residuals,
      attributes=schema,
      reference=reference,
      forward_platforms=forward,
      backward_platforms=backward,
      workspace=workspace,
  )
  _declared[name] = Op(declaration)
  return _declared[name]


def find(name: str) -> "Op | None":
  """Returns the op that was declared with this name."""
  return _declared.get(name)


def _is_allowed(dtype, allowed):
  # Without x64, jax makes an array of 32 bits of one of 64.
  wide = isinstance(dtype, np.dtype) and dtype.kind in "iufc" and dtype.isnative
  return dtype in allowed or (
      wide and jax.dtypes.canonicalize_dtype(dtype) in allowed
  )


def _operand_names(name, signature, operands, reference):
  count = len(signature.operands)
  if operands is None and reference is not None:
    operands = [
        parameter.name
        for parameter in inspect.signature(reference).parameters.values()
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ][:count]
  if operands is None:
    operands = [f"operand {index}" for index in range(count)]
  if len(operands) != count:
    raise ValueError(
        f"{name}: {signature} has {count} operands, but named are"
        f" {list(operands)}."
    )
  return tuple(operands)


def _allowed(dtypes, operand):
  if isinstance(dtypes, Mapping):
    dtypes = dtypes.get(operand)
  return None if dtypes is None else frozenset(map(jnp.dtype, dtypes))


class Op:
  """A declared op; call it like a function of jax.numpy."""

  def __init__(self, declaration: Declaration):
    self.declaration = declaration
    self._forward = primitives.Primitives(declaration).forward

  def __repr__(self) -> str:
    return f"<op {self.declaration.name}: {self.declaration.signature}>"

  @property
  def targets(self) -> tuple[str, ...]:
    """The FFI targets, to be allowed when an exported program is checked."""
    op_ = self.declaration
    backward = (op_.backward_target,) if op_.backward_platforms else ()
    return (op_.forward_target, *backward)

  def __call__(self, *operands: Any, **attributes: Any) -> Any:
    op_ = self.declaration
    arrays = self._arrays(operands)
    values = attribute_types.convert(op_.name, op_.attributes, attributes)

    results = self._forward(*arrays, **values)
    results = tuple(op_.split_results(results)[0])
    return results[0] if len(results) == 1 else results

  def _arrays(self, operands):
    op_ = self.declaration
    if len(operands) != len(op_.operands):
      raise TypeError(
          f"{op_.name} takes {len(op_.operands)} operands"
          f" ({', '.join(op_.operands)}), got {len(operands)}."
      )
    for name, x, core, allowed in zip(
        op_.operands, operands, op_.signature.operands, op_.dtypes
    ):
      # A Python number is an array where only a scalar is asked for.
      accepted = _ARRAYS if core else (*_ARRAYS, numbers.Number)
      if not isinstance(x, accepted):
        raise TypeError(f"{op_.name}: {name} must be an array, got {x!r}.")
      dtype = x.dtype if isinstance(x, _ARRAYS) else jnp.result_type(x)
      if allowed is not None and not _is_allowed(dtype, allowed):
        names = " or ".join(sorted(d.name for d in allowed))
        raise TypeError(
            f"{op_.name}: {name} must have dtype {names}, got {dtype}."
        )
    arrays = list(map(jnp.asarray, operands))
    op_.signature.check(
        op_.name, op_.operands, [x.shape for x in arrays], op_.parameters
    )
    return arrays
