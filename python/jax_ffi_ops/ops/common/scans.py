# SPDX-License-Identifier: Apache-2.0
"""Ops that take the place of jax.lax.cumsum and its like."""

from collections.abc import Callable, Collection
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.kit.declare.groups import Buffers
from jax_ffi_ops.kit.declare.groups import Choice
from jax_ffi_ops.kit.declare.groups import Results
from jax_ffi_ops.kit.function import Op
from jax_ffi_ops.kit.load.library import Library
from jax_ffi_ops.kit.op import op as declare
from jax_ffi_ops.ops.common.namesake import along_axis
from jax_ffi_ops.ops.common.namesake import documented

_TEXT = """
  Args:
    operand: an array. Handlers take {dtypes}.
      jax.lax computes other arrays.
    axis: the axis to go along. Unlike in jax.lax, it may be negative: -1 is the
      last one.
    reverse: whether to go from the last element to the first.
    in_place: whether the result may take the memory of `operand`. Say so where
      that is donated, or the carry of a loop; XLA copies what is used again.

  Returns:
    An array of the shape and dtype of `operand`.

  Raises:
    TypeError, ValueError: as jax.lax.{name} does, but not for a negative axis.
  """

# Add to a docstring what all scans have in common.
of_numbers = documented(
    _TEXT,
    dtypes="int8 to int64, uint8 to uint64, float16,\n"
    "      bfloat16, float32 and float64",
)
of_floats = documented(_TEXT, dtypes="float16, bfloat16, float32 and float64")


def is_faster_on_gpu(x: jax.Array, n: int) -> bool:
  """Whether a GPU's handler is faster. Nobody has measured it.

  XLA makes about 2 log2 n passes. A block of the handler has at least 256 steps
  in flight, or 8 steps of 32 columns.
  """
  return n >= 64 and x.size >= 2**14


def _is_faster(x, *, n, platform, **_):
  """Whether the handler is faster than XLA, along any axis and with 1 thread.

  XLA compiles up to 16 steps to one loop, where each result combines all
  elements before it. The handler takes time for its call, and for each step.
  """
  if platform == "cuda":
    return is_faster_on_gpu(x, n)
  if n <= 8:
    return n > 4 and x.size >= 2**15
  return n * x.size >= 2**13 if n <= 16 else x.size >= 128


def scan_op(
    name: str,
    library: Library,
    allowed: Collection[Any] = dtypes.NUMBERS,
    is_faster: Callable[..., bool] = _is_faster,
    **rules: Any,
) -> Op:
  """Declares an op that scans along an axis.

  Args:
    name: of the op, and of the function of jax.lax.
    library: the shared object with its handler.
    allowed: the dtypes that the function of jax.lax takes.
    is_faster: as for `kit.Choice`.
    **rules: rules for derivatives and split cores, as for `kit.op`.
  """
  namesake = getattr(jax.lax, name)

  def reference(x, *, reverse):
    if not jnp.issubdtype(x.dtype, jnp.floating):
      return namesake(x, reverse=reverse)
    wide = x.astype(dtypes.accumulator(x.dtype))
    return namesake(wide, reverse=reverse).astype(x.dtype)

  return declare(
      name,
      library=library,
      signature="(n,*)->(n,*)",
      attributes={"reverse": np.bool_},
      reference=reference,
      dtypes=allowed,
      buffers=Buffers(in_place={"y": "x"}),
      # To see it: //benchmarks:benchmark --at-any-speed
      #   --lines=cumsum/64x8/*/*/program
      choice=Choice(is_faster=is_faster),
      **rules,
  )


def scan_from_op(
    name: str,
    library: Library,
    join: Callable[[jax.Array, jax.Array], jax.Array],
    allowed: Collection[Any] = dtypes.NUMBERS,
    starts: Any = "x",
    **rules: Any,
) -> Op:
  """Declares the op that scans a piece of an axis, for a device that has it.

  Its name has `_from` at its end. Its second operand, `start`, is what all
  elements before the piece make.

  Args:
    name: of the op that scans an axis, and of the function of jax.lax.
    library: the shared object with its handler.
    join: function of `start` and of what a scan of the piece alone returns that
      returns the results.
    allowed: the dtypes that the function of jax.lax takes.
    starts: the dtypes of `start`, or "x" for that of the piece.
    **rules: rules for derivatives, as for `kit.op`.
  """
  namesake = getattr(jax.lax, name)

  def reference(x, start, *, reverse):
    y = namesake(x.astype(start.dtype), reverse=reverse)
    return join(start, y).astype(x.dtype)

  return declare(
      name + "_from",
      library=library,
      signature="(n,*),(*)->(n,*)",
      attributes={"reverse": np.bool_},
      reference=reference,
      dtypes={"x": allowed, "start": starts},
      results=Results(dtypes=lambda x, start, **_: (x.dtype,)),
      buffers=Buffers(broadcast_operands=True),
      **rules,
  )


def _is_total_faster(x, *, n, platform, **_):
  if platform == "cuda":  # Each row has one block.
    return is_faster_on_gpu(x, n) and x.size >= 128 * n
  return x.size >= 64


def scan_total_op(
    name: str,
    library: Library,
    reference: Callable[[jax.Array], jax.Array],
    allowed: Collection[Any] = dtypes.NUMBERS,
    **rules: Any,
) -> Op:
  """Declares the op that reduces a piece of an axis, for a device that has it.

  Its name has `_total` at its end. Its result is what all elements of the piece
  make: a `start` for the op of `scan_from_op`.

  Args:
    name: of the op that scans an axis.
    library: the shared object with its handler.
    reference: the definition.
    allowed: the dtypes that the function of jax.lax takes.
    **rules: rules for derivatives, as for `kit.op`.
  """
  with jax.enable_x64(True):  # Split cores are computed with 64-bit types, too.
    return declare(
        name + "_total",
        library=library,
        signature="(n,*)->(*)",
        reference=reference,
        dtypes=allowed,
        outputs=("total",),
        choice=Choice(is_faster=_is_total_faster),
        **rules,
    )


def scan(
    op: Op,
    namesake: Callable[..., jax.Array],
    operand: Any,
    axis: Any,
    reverse: Any,
    in_place: bool,
) -> jax.Array:
  """Calls an op that scans along an axis, or its namesake in jax.lax."""
  arguments.check_bool(op.declaration.name, "in_place", in_place)
  taken = None if axis is None else along_axis(op, operand, axis)
  if taken is None:
    ndim = np.ndim(operand)
    if isinstance(axis, numbers.Integral) and -ndim <= axis < 0:
      axis += ndim  # jax.lax takes no negative axis.
    return namesake(operand, axis, reverse)
  x, axis = taken
  return op(x, axis=axis, reverse=bool(reverse), in_place=in_place)
