# SPDX-License-Identifier: Apache-2.0
"""From the arguments of `kit.op` to a Declaration, or to an error."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
import dataclasses
import functools
import itertools
from typing import Any

from jax_ffi_ops.kit import dtypes as dtype_rules
from jax_ffi_ops.kit.declare import attributes as attribute_types
from jax_ffi_ops.kit.declare import checking
from jax_ffi_ops.kit.declare.author_functions import AuthorFunction
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.declare.groups import Buffers
from jax_ffi_ops.kit.declare.groups import Choice
from jax_ffi_ops.kit.declare.groups import Derivatives
from jax_ffi_ops.kit.declare.groups import Operand
from jax_ffi_ops.kit.declare.groups import Results
from jax_ffi_ops.kit.declare.names import Names
from jax_ffi_ops.kit.declare.signature import Signature
from jax_ffi_ops.kit.declare.split import Split
from jax_ffi_ops.kit.load.source import Source

DTypes = Collection[Any] | Mapping[str, Collection[Any] | str]
Operands = Sequence[str] | Mapping[str, Operand]


def declared(
    name: str,
    *,
    library: Source,
    signature: str,
    reference: Callable[..., Any] | None,
    dtypes: DTypes | None,
    attributes: Mapping[str, Any] | None = None,
    operands: Operands | None,
    outputs: Sequence[str] | None = None,
    results: Results,
    derivatives: Derivatives = Derivatives(),
    choice: Choice,
    buffers: Buffers = Buffers(),
    split: Split | None = None,
) -> Declaration:
  """Returns what an author declares, or raises an error; see `kit.op`."""
  check_kinds(
      name,
      {
          "name": (name, str),
          "signature": (signature, str),
          "results": (results, Results),
          "derivatives": (derivatives, Derivatives),
          "choice": (choice, Choice),
          "buffers": (buffers, Buffers),
          **({} if split is None else {"split": (split, Split)}),
      },
  )
  roles = _roles(name, operands)
  results = dataclasses.replace(results, sizes=dict(results.sizes))
  schema, parsed = _parsed(name, signature, attributes, results.sizes)
  slots, visible, kept = Names.of(
      name,
      parsed,
      operands=_names(operands, reference),
      reference=reference,
      outputs=outputs,
      residuals=derivatives.residuals,
      attributes=schema,
  )
  weights = {n: x.weight_of for n, x in roles.items() if x.weight_of}
  same = _same_dtypes(dtypes, parsed, slots, weights)
  derivatives = dataclasses.replace(
      derivatives, residuals=kept, needed_by=dict(derivatives.needed_by)
  )
  buffers = dataclasses.replace(
      buffers,
      in_place=dict(buffers.in_place),
      column_major=frozenset(buffers.column_major),
  )
  by_name = dtypes if isinstance(dtypes, Mapping) else {}
  _check_names(
      name,
      slots,
      (*roles, *by_name, *same.values(), *weights.values(),
       *buffers.in_place.values(),
       *itertools.chain(*derivatives.needed_by.values())),
  )  # fmt: skip
  cotangents = ["d" + n for n in visible]
  known = (*slots, *dict.fromkeys((*kept, *visible)))
  function = functools.partial(AuthorFunction.of, name)
  rule = lambda kind, *names: function(kind, getattr(derivatives, kind), names)
  key = library.prefix + name
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
      roles=roles,
      outputs=visible,
      attributes=schema,
      results=dataclasses.replace(
          results,
          sizes={
              n: function(f"sizes[{n!r}]", x, [*parsed.names, *schema])
              for n, x in results.sizes.items()
          },
      ),
      reference=AuthorFunction(reference, slots) if reference else None,
      derivatives=dataclasses.replace(
          derivatives,
          jvp=rule("jvp", *known, *(n + "_dot" for n in slots)),
          transpose=rule("transpose", *slots, *cotangents),
          backward=rule("backward", *slots, *kept, *cotangents),
      ),
      choice=choice,
      buffers=buffers,
      split=split
      and split.resolved(
          name,
          [*known, *cotangents],
          slots,
          (*parsed.operands, *parsed.results),
      ),
      cores=library.cores(key),
      forward_platforms=library.declare(key + "_fwd"),
      backward_platforms=library.declare(key + "_bwd", required=False),
  )
  checking.check(declaration)
  return declaration


def check_kinds(op: str, arguments: Mapping[str, tuple[Any, type]]) -> None:
  """Raises TypeError or ValueError if an argument is none of its kind."""
  for what, (value, kind) in arguments.items():
    if not isinstance(value, kind):
      raise TypeError(f"{op}: {what} must be a {kind.__name__}, got {value!r}.")
  if not op:
    raise ValueError("The name of an op must not be empty.")


def _roles(op: str, operands: Operands | None) -> Mapping[str, Operand]:
  """Returns what operands are, if the author says so."""
  roles = dict(operands) if isinstance(operands, Mapping) else {}
  for name, role in roles.items():
    if not isinstance(role, Operand):
      raise TypeError(f"{op}: {name} must be an Operand, got {role!r}.")
  return roles


def _names(operands, reference):
  """Returns the names that an author gives, or None."""
  if operands is None or (isinstance(operands, Mapping) and reference):
    return None
  return tuple(operands)


def _parsed(op, signature, attributes, sizes):
  """Returns the types of attributes, and the signature."""
  schema = attribute_types.schema(op, attributes)
  for name, attribute in schema.items():
    if attribute.optional or attribute.is_dictionary:
      raise TypeError(
          f"{op}: attribute {name} must be given and be no mapping: kit.call"
          " knows others."
      )
  dimensions = [name for name, x in schema.items() if x.is_dimension]
  parsed = Signature.parse(signature, [*dimensions, *sizes])
  own = parsed.result_names.difference(sizes).intersection(dimensions)
  return schema | {name: schema[name].as_dimension() for name in own}, parsed


def _same_dtypes(dtypes, signature, slots, weights):
  """Returns the operands that must have the dtype of another one."""
  if isinstance(dtypes, Mapping):
    return {name: x for name, x in dtypes.items() if isinstance(x, str)}
  if dtypes is None:
    return {}
  required = [x for i, x in enumerate(slots) if i not in signature.optional]
  first = next((name for name in required if name not in weights), None)
  return {n: first for n in slots if first and n not in (first, *weights)}


def _check_names(op: str, slots: Collection[str], names: Iterable[str]) -> None:
  """Raises ValueError if there are names of no operands."""
  unknown = {*names}.difference(slots)
  if unknown:
    raise ValueError(f"{op}: no operand is named {sorted(unknown)}.")
