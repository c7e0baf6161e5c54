# SPDX-License-Identifier: Apache-2.0
"""Declares an op once; every JAX transformation follows."""

from collections.abc import Callable, Collection, Mapping, Sequence
import itertools
import sys
import threading
import types
from typing import Any

import jax

from jax_ffi_ops.kit import dtypes as dtype_rules
from jax_ffi_ops.kit.declare import attributes as attribute_types
from jax_ffi_ops.kit.declare import checking
from jax_ffi_ops.kit.declare.author_functions import AuthorFunction
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.declare.names import Names
from jax_ffi_ops.kit.declare.signature import Signature
from jax_ffi_ops.kit.declare.split import Split
from jax_ffi_ops.kit.function import Op
from jax_ffi_ops.kit.load.cores import Cores
from jax_ffi_ops.kit.load.library import Library

_DTypes = Collection[Any] | Mapping[str, Collection[Any] | str]
# By target, without "_fwd": the op, and the code that declared it.
_declared: dict[str, tuple[Op, types.CodeType]] = {}
_declaring = threading.Lock()


def op(
    name: str,
    *,
    library: Library,
    signature: str,
    results: Callable[..., Sequence[Any]] | None = None,
    residuals: int | Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    attributes: Mapping[str, Any] | None = None,
    sizes: Mapping[str, Callable[..., int]] | None = None,
    reference: Callable[..., Any] | None = None,
    dtypes: _DTypes | None = None,
    parameters: Collection[str] = (),
    stretched: Collection[str] = (),
    operands: Sequence[str] | None = None,
    weights: Mapping[str, str] | None = None,
    row_sums: Sequence[str] = (),
    skips_gradients: bool = False,
    needed_by: Mapping[str, Collection[str]] | None = None,
    jvp: Callable[..., Any] | None = None,
    transpose: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    use_handler: Callable[..., bool] | None = None,
    is_faster: Callable[..., bool] | None = None,
    broadcast_operands: bool = False,
    column_major: Collection[str] = (),
    most_loops: int | None = None,
    in_place: Mapping[str, str] | None = None,
    split: Split | None = None,
    strict: bool = False,
) -> Op:
  """Declares an op that is a generalized ufunc.

  Functions that you pass take arrays positionally, and attributes as keywords.
  A rule for derivatives names its parameters after operands and results, their
  tangents (`<operand>_dot`) and their cotangents (`d<result>`). Like the
  reference, it is written for one core, and the kit maps it over the loop
  dimensions. An absent operand is None.

  Args:
    name: the name of the op, for messages and programs. Its handlers are the
      FFI targets `<name>_fwd` and, if the library has it, `<name>_bwd`, with
      the library's prefix in front.
    library: the shared object with the handlers.
    signature: core dimensions in NumPy's notation, such as "(d),(d)?->(d),()".
      Any dimensions may lead these: all operands have the same ones, or none.
      "?": calls may leave the operand out, or pass None. "(n,*)": loop
      dimensions may also trail; calls take an `axis`, that of the last core
      dimension. A number is a dimension of that size, "(2h)" one of twice the
      size of h, "(h+1)" one longer by 1. A result dimension that no operand has is the attribute of that
      name, of type np.int64, which is then at least 0, or is in `sizes`.
    results: function of the operands (objects with shape and dtype, without
      loop dimensions) that returns the dtypes of all results. By default, they
      are the reference's dtypes; without a reference, the first operand's.
    residuals: the names of the last results. They are kept for the backward
      pass, and hidden from the caller unless `outputs` has them, too. A number
      stands for that many results without names.
    outputs: the names of the visible results; by default y, or y0, y1 and so
      on. If an operand has such a name, they are named result.
    attributes: name to type: a NumPy scalar type, or an Attribute.
    sizes: functions that return the sizes of result dimensions. Their
      parameters name dimensions of operands, and attributes:
      {"m": lambda n, k: n - k + 1}.
    reference: the definition in plain jax.numpy, which returns all results.
      Other platforms run it, and JAX differentiates it where neither a handler
      nor a rule gives derivatives.
    dtypes: a list; all operands of a call, except weights, have the same dtype
      of it. Or a mapping from each operand to its list, where the name of
      another operand stands for that operand's dtype.
    parameters: operands that calls give without loop dimensions.
    stretched: operands whose loop dimensions may be 1 in a call where those of
      other operands are larger. They are passed as they are; nothing is copied.
    operands: names of the operands; by default those of the reference.
    weights: a mapping from a weight to its operand x. Weights reach the handler
      in one dtype: the dtype of x if all of them have it, or else the dtype of
      sums over x. If that would lose precision, the reference runs.
    row_sums: operands whose gradients are sums over rows. The backward handler
      for CUDA gets memory for partial sums.
    skips_gradients: whether the backward handler takes the attribute `wanted`,
      and computes only the gradients in it. By default it computes all.
    needed_by: with `skips_gradients` and no other rule: residuals that the
      backward handler takes only if the gradient of one of some operands is
      wanted: {"y": ("scale",)}.
    jvp: the tangents of the results, in terms of operands, results and
      tangents. Without a backward handler, only its parameters are kept.
    transpose: for an op that is linear in its operands: their cotangents, in
      terms of cotangents. Nothing is kept. If it also takes operands, the op is
      linear in the others, and it returns only their cotangents.
    backward: the cotangents of the floating-point operands, in any dtype, in
      terms of operands, residuals and cotangents. Only its parameters are kept
      and passed to the backward handler. It runs where there is no such
      handler. If it does not take all operands, other derivatives come from it,
      too.
    use_handler: function of the operands (as for `results`, but with all loop
      dimensions) and of `platform` ("cpu" or "cuda") that returns whether the
      handlers serve the call; if not, the reference runs. Calls with symbolic
      dimensions use the handler. Parameters that are only keywords, and are
      named like core dimensions of operands, get the sizes of these.
    is_faster: function like `use_handler`, and of `backward` (a bool), that
      returns whether the handler is faster than the reference; if not, the
      reference runs. Tests run the handler all the same: see
      `kit.testing.handlers_at_any_speed`.
    broadcast_operands: whether handlers take all operands with all loop
      dimensions in full, and sum over none. If so, an operand that rows or a
      `vmap` share is copied to the full shape. If not, it has no loop
      dimensions, or some of size 1.
    column_major: operands and results whose cores are column-major in memory,
      as those of LAPACK are: the last axis of the core has the largest stride
      of its axes. The loop dimensions lead all the same. The cotangent of such
      an array is column-major, too. A function whose loops are elsewhere in
      memory needs `kit.call`.
    most_loops: how many loop dimensions handlers take at most: 0 if they bind
      buffers of a fixed rank, such as ffi::BufferR2. A call or a `vmap` with
      more is an error when it is traced. By default, handlers take any number.
    in_place: results that the CPU's forward handler may compute over an operand
      of their shape and dtype: {"y": "x"}. It reads no part of the operand after
      it has written that part. Calls may then say `in_place=True`.
    split: how devices compute a core of which each has a piece. Without it, XLA
      gathers such a core.
    strict: whether it is an error that a call would run the reference on a
      platform with handlers. It is for ops whose handlers are compiled for some
      cores alone.

  Returns:
    A function of the operands (arrays) and attributes (keywords) that returns
    an array, or a tuple of them if the op has several visible results.

  Raises:
    ValueError: the signature is malformed, names do not fit it or each other,
      there is an op of that name already, or derivatives would be wrong.
    TypeError: an attribute has no type that FFI knows, an operand may have no
      dtype, or a function does not return what the signature says.
    ImportError: the library lacks the forward handler, this jaxlib does not
      accept it, or another library has registered it. If there is no file,
      calls raise it.
  """
  for what, value, kind in (
      ("name", name, str),
      ("library", library, Library),
      ("signature", signature, str),
  ):
    if not isinstance(value, kind):
      raise TypeError(
          f"{name}: {what} must be a {kind.__name__}, got {value!r}."
      )
  if not name:
    raise ValueError("The name of an op must not be empty.")
  key = library.prefix + name
  schema = attribute_types.schema(name, attributes)
  for n, attribute in schema.items():
    if attribute.optional or attribute.is_dictionary:
      raise TypeError(
          f"{name}: attribute {n} must be given and be no mapping: kit.call"
          " knows others."
      )
  dimensions = [n for n, a in schema.items() if a.is_dimension]
  sizes = dict(sizes or {})
  parsed = Signature.parse(signature, [*dimensions, *sizes])
  own = parsed.result_names.difference(sizes).intersection(dimensions)
  schema |= {n: schema[n].as_dimension() for n in own}
  slots, visible, kept = Names.of(
      name,
      parsed,
      operands=operands,
      reference=reference,
      outputs=outputs,
      residuals=residuals,
      attributes=schema,
  )
  checking.check_sizes(name, parsed, sizes)
  by_name = dtypes if isinstance(dtypes, Mapping) else {}
  same = {n: x for n, x in by_name.items() if isinstance(x, str)}
  weights = dict(weights or {})
  if dtypes is not None and not isinstance(dtypes, Mapping):
    required = [n for i, n in enumerate(slots) if i not in parsed.optional]
    first = next((n for n in required if n not in weights), None)
    same = {n: first for n in slots if first and n not in (first, *weights)}
  needed_by, in_place = dict(needed_by or {}), dict(in_place or {})
  unknown = {
      *parameters, *stretched, *by_name, *same.values(), *weights, *weights.values(),
      *row_sums, *in_place.values(), *itertools.chain(*needed_by.values()),
  }.difference(slots)  # fmt: skip
  if unknown:
    raise ValueError(f"{name}: no operand is named {sorted(unknown)}.")
  others = {*needed_by}.difference(kept)
  if others or (needed_by and (backward or jvp or not skips_gradients)):
    raise ValueError(
        f"{name}: `needed_by` is about residuals, with `skips_gradients` and"
        f" without `jvp` and `backward`, got {needed_by}."
    )
  results_of = {*visible, *kept}
  if not results_of.issuperset(in_place) or len({*in_place.values()}) != len(
      in_place
  ):
    raise ValueError(
        f"{name}: `in_place` is from results ({sorted(results_of)}) to an operand"
        f" each, got {in_place}."
    )
  if broadcast_operands and row_sums:
    raise ValueError(
        f"{name}: handlers with `broadcast_operands` sum over no rows, but"
        f" `row_sums` are {list(row_sums)}."
    )
  cotangents = ["d" + n for n in visible]
  known = (*slots, *dict.fromkeys((*kept, *visible)))
  declaration = Declaration(
      name=name,
      library=library,
      signature=parsed,
      slots=slots,
      operands=slots,
      dtypes=tuple(
          dtype_rules.allowed(name, dtypes, same.get(n, n)) for n in slots
      ),
      same_dtype=same,
      parameters=frozenset(parameters),
      stretched=frozenset(stretched),
      outputs=visible,
      residuals=kept,
      attributes=schema,
      sizes={
          n: AuthorFunction.of(
              name, f"sizes[{n!r}]", function, [*parsed.names, *schema]
          )
          for n, function in sizes.items()
      },
      results=results,
      reference=AuthorFunction(reference, slots) if reference else None,
      jvp=AuthorFunction.of(
          name, "jvp", jvp, [*known, *(n + "_dot" for n in slots)]
      ),
      transpose=AuthorFunction.of(
          name, "transpose", transpose, [*slots, *cotangents]
      ),
      backward=AuthorFunction.of(
          name, "backward", backward, [*slots, *kept, *cotangents]
      ),
      weights=weights,
      row_sums=tuple(row_sums),
      skips_gradients=skips_gradients,
      needed_by=needed_by,
      use_handler=use_handler,
      is_faster=is_faster,
      broadcast_operands=broadcast_operands,
      column_major=frozenset(column_major),
      most_loops=most_loops,
      in_place=in_place,
      split=split
      and split.resolved(
          name,
          [*known, *cotangents],
          slots,
          (*parsed.operands, *parsed.results),
      ),
      cores=Cores.of(library.path, key),
      strict=strict,
      forward_platforms=library.declare(key + "_fwd"),
      backward_platforms=library.declare(key + "_bwd", required=False),
  )
  module = _module(sys._getframe(1))  # pylint: disable=protected-access
  checking.check_column_major(declaration)
  checking.check(declaration)
  made = Op(declaration, module.f_globals.get("__name__", "__main__"))
  with _declaring:
    if key in _declared and not _runs_again(_declared[key][1], module.f_code):
      raise ValueError(f"There is an op {key!r} already.")
    _declared[key] = made, module.f_code
  # For the exported programs, say of another process, that let XLA split calls.
  for target in made.targets:
    jax.ffi.register_ffi_target_as_batch_partitionable(target)
  return made


def _module(frame):
  """Returns the frame of the module that is being run, or else the caller's."""
  own = frame
  while frame is not None and frame.f_code.co_name != "<module>":
    frame = frame.f_back
  return frame or own


def _runs_again(code, new):
  """Returns whether a module is reloaded, or is imported by a second name."""
  return new is not code and new.co_filename == code.co_filename


def find(name: str) -> Op | None:
  """Returns the op of this name (with the prefix)."""
  return _declared[name][0] if name in _declared else None
