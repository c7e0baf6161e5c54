# SPDX-License-Identifier: Apache-2.0
"""What an author says together in `kit.op`: a dataclass for each subject."""

from collections.abc import Callable, Collection, Mapping, Sequence
import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Operand:
  """What an operand is, if it is more than an array.

  Attributes:
    parameter: whether calls give it without loop dimensions.
    stretched: whether its loop dimensions may be 1 in a call where other
      operands have larger ones. It is passed as it is; nothing is copied.
    weight_of: an operand x. All weights reach the handler in one dtype: the
      dtype of x if all of them have it, or else the dtype of sums over x. If
      that would lose precision, the reference runs.
    row_sums: whether its gradient is a sum over rows. The backward handler for
      CUDA gets memory for partial sums.
  """

  parameter: bool = False
  stretched: bool = False
  weight_of: str | None = None
  row_sums: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
  """Dtypes and sizes of results that do not follow from anything else.

  Attributes:
    dtypes: function of the operands (objects with shape and dtype, without loop
      dimensions) that returns the dtypes of all results. By default, they are
      the reference's dtypes; without a reference, the first operand's.
    sizes: functions that return the sizes of result dimensions. Their
      parameters name dimensions of operands, and attributes:
      {"m": lambda n, k: n - k + 1}.
  """

  dtypes: Callable[..., Sequence[Any]] | None = None
  sizes: Mapping[str, Callable[..., int]] = dataclasses.field(
      default_factory=dict
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Derivatives:
  """Rules for derivatives, and what a backward handler takes.

  One rule is enough. A rule names its parameters after operands and results,
  their tangents (`<operand>_dot`) and their cotangents (`d<result>`). It also
  takes the attributes. Like the reference, it is written for one core.

  Attributes:
    backward: the cotangents of the floating-point operands, in any dtype, in
      terms of operands, residuals and cotangents. Only its parameters are kept
      and passed to the backward handler. It runs where there is no such
      handler. If it does not take all operands, other derivatives come from it,
      too.
    jvp: the tangents of the results, in terms of operands, results and
      tangents. Without a backward handler, only its parameters are kept.
    transpose: for an op that is linear in its operands: their cotangents, in
      terms of cotangents. Nothing is kept. If it also takes operands, the op is
      linear in the others, and it returns only their cotangents.
    residuals: the names of the last results. They are kept for the backward
      pass, and hidden from the caller unless `outputs` has them, too. A number
      stands for that many results without names.
    skips_gradients: whether the backward handler takes the attribute `wanted`,
      and computes only the gradients in it. By default it computes all.
    needed_by: with `skips_gradients` and no rule: residuals that the backward
      handler takes only if the gradient of one of some operands is wanted:
      {"y": ("scale",)}.
  """

  backward: Callable[..., Any] | None = None
  jvp: Callable[..., Any] | None = None
  transpose: Callable[..., Any] | None = None
  residuals: int | Sequence[str] = ()
  skips_gradients: bool = False
  needed_by: Mapping[str, Collection[str]] = dataclasses.field(
      default_factory=dict
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
  """When a call runs its handler, and when the reference.

  Attributes:
    is_faster: function like `use_handler`, and of `backward` (a bool), that
      returns whether the handler is faster than the reference; if not, the
      reference runs. Tests run the handler all the same, by
      `kit.using("handler if served")`.
    use_handler: function of the operands (as for `Results.dtypes`, but with all
      loop dimensions) and of `platform` ("cpu" or "cuda") that returns whether
      the handlers serve the call; if not, the reference runs. Calls with
      symbolic dimensions use the handler. Parameters that are only keywords,
      and are named like core dimensions of operands, get the sizes of these.
    strict: whether it is an error that a call would run the reference on a
      platform with handlers. It is for ops whose handlers are compiled for some
      cores alone. Gradients by `Derivatives.transpose` are no error: they have
      no handler. Nor is what a caller asks for by `kit.using("reference")`.
  """

  is_faster: Callable[..., bool] | None = None
  use_handler: Callable[..., bool] | None = None
  strict: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Buffers:
  """How arrays lie in the memory that handlers get.

  Attributes:
    in_place: results that the CPU's forward handler may compute over an operand
      of their shape and dtype: {"y": "x"}. It reads no part of the operand
      after it has written that part. Calls may then say `in_place=True`.
    broadcast_operands: whether handlers take all operands with all loop
      dimensions in full, and sum over none. If so, an operand that rows or a
      `vmap` share is copied to the full shape. If not, it has no loop
      dimensions, or some of size 1.
    column_major: operands and results whose cores are column-major in memory,
      as in LAPACK: the last axis of the core has the largest stride of its
      axes. The loop dimensions lead all the same. The cotangent of such
      an array is column-major, too. A function whose loops are elsewhere in
      memory needs `kit.call`.
    most_loops: how many loop dimensions handlers take at most: 0 if they bind
      buffers of a fixed rank, such as ffi::BufferR2. A call or a `vmap` with
      more is an error when it is traced. By default, handlers take any number.
  """

  in_place: Mapping[str, str] = dataclasses.field(default_factory=dict)
  broadcast_operands: bool = False
  column_major: Collection[str] = ()
  most_loops: int | None = None
