# SPDX-License-Identifier: Apache-2.0
"""The names of operands and results in a declaration."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit.declare import author_functions
from jax_ffi_ops.kit.declare.signature import Signature

# The kit adds these to the attributes of a handler or of an author's function.
_TAKEN = ("axis", "batch_rank", "in_place", "platform", "present", "self",
          "trailing_rank", "wanted")  # fmt: skip


class Names(NamedTuple):
  """See `kit.op`.

  Attributes:
    operands: of all operands.
    outputs: of the results that callers see.
    residuals: of the results that are kept.
  """

  operands: tuple[str, ...]
  outputs: tuple[str, ...]
  residuals: tuple[str, ...]

  @classmethod
  def of(
      cls,
      op: str,
      signature: Signature,
      *,
      operands: Sequence[str] | None,
      reference: Callable[..., Any] | None,
      outputs: Sequence[str] | None,
      residuals: int | Sequence[str],
      attributes: Collection[str],
  ) -> "Names":
    """Returns what a declaration names, and the defaults for the rest.

    Raises:
      ValueError: names do not fit the signature, or stand for two things.
    """
    slots = _operand_names(op, signature, operands, reference)
    names = cls(slots, *_result_names(op, signature, outputs, residuals, slots))
    _check(op, *names, attributes)
    return names


def _operand_names(name, signature, operands, reference):
  count = len(signature.operands)
  if operands is None and reference is not None:
    operands = author_functions.positional(reference)[:count]
  if operands is None:
    operands = [f"operand {index}" for index in range(count)]
  if len(operands) != count:
    raise ValueError(
        f"{name}: {signature} has {arguments.counted(count, 'operand')},"
        f" but named are {list(operands)}."
    )
  return tuple(operands)


def _result_names(name, signature, outputs, residuals, operands):
  """Returns the names of visible results and of residuals."""
  count = len(signature.results)
  hidden = residuals
  if not isinstance(residuals, int):
    hidden = len([n for n in residuals if n not in (outputs or ())])
  if not 0 <= hidden < count:
    raise ValueError(
        f"{name}: {hidden} residuals leave no result of {signature}."
    )
  if isinstance(residuals, int):
    residuals = [f"residual{index}" for index in range(residuals)]
  visible = count - hidden
  if outputs is None:
    base = "result" if any(str(n)[:1] == "y" for n in operands) else "y"
    outputs = [f"{base}{i}" for i in range(visible)] if visible > 1 else [base]
  if len(outputs) != visible:
    raise ValueError(
        f"{name}: {signature} has {visible} results that callers see, but"
        f" `outputs` are {list(outputs)}."
    )
  return tuple(outputs), tuple(residuals)


def _check(op, operands, outputs, residuals, attributes):
  """Raises ValueError if a name is none, or stands for two things."""
  wrong = [
      name
      for name in (*operands, *outputs, *residuals)
      if not isinstance(name, str) or not name
  ]
  if wrong:
    raise ValueError(
        f"{op}: names of operands and results must be strings that are not"
        f" empty, got {wrong}."
    )
  results = dict.fromkeys((*outputs, *residuals))
  every = [
      *operands, *(name + "_dot" for name in operands),
      *results, *("d" + name for name in results), *attributes, *_TAKEN,
  ]  # fmt: skip
  repeated = {name for name in every if every.count(name) > 1}
  for names in (outputs, residuals):
    repeated |= {name for name in names if list(names).count(name) > 1}
  if repeated:
    raise ValueError(
        f"{op}: there are several {sorted(repeated)}. Names of operands,"
        " `outputs` and attributes must differ, also from tangents"
        " (`<operand>_dot`), cotangents (`d<result>`) and what the kit adds."
    )
