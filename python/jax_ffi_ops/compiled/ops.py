# SPDX-License-Identifier: Apache-2.0
"""Declares a program as an op of the kit."""

import re
from typing import Any, NamedTuple

from jax.extend import core as jex_core

from jax_ffi_ops.compiled import answers
from jax_ffi_ops.compiled import program
from jax_ffi_ops.compiled import sizes
from jax_ffi_ops.compiled import speed
from jax_ffi_ops.compiled.handlers import Handlers
from jax_ffi_ops.compiled.handlers import hash_of
from jax_ffi_ops.kit.declare import declaring
from jax_ffi_ops.kit.declare.groups import Choice
from jax_ffi_ops.kit.declare.groups import Results
from jax_ffi_ops.kit.function import Op


class Options(NamedTuple):
  """What a user says of a function; see `compile`."""

  least_rows: speed.LeastRows | None = None
  is_faster: Any = None
  strict: bool = False


def op_of(
    name: str, closed: jex_core.ClosedJaxpr, constants: int, options: Options
) -> Op:
  """Returns the op of a jaxpr of arrays.

  Args:
    name: of the caller's function.
    closed: the jaxpr.
    constants: how many of the first operands are constants.
    options: for the op.
  """
  function = jex_core.jaxpr_as_fun(closed)
  reference = lambda *arrays: tuple(function(*arrays))
  return _declared(name, closed, constants, reference, options)


def open_op_of(
    name: str, calls: program.Calls, pattern: sizes.Pattern, options: Options
) -> Op | None:
  """Returns the op of calls of several sizes; None if it cannot be compiled."""

  def reference(*arrays):
    own = calls.traced([x.shape for x in arrays[count:]])
    function = jex_core.jaxpr_as_fun(own.jaxpr)
    return tuple(function(*own.constants, *arrays[count:]))

  try:
    traced = calls.traced(sizes.symbolic(pattern))
    count = len(traced.constants)
    op = _declared(name, traced.jaxpr, count, reference, options)
  except Exception:  # pylint: disable=broad-except
    # The caller's code may need numbers, and no signature has such a size.
    return None
  return None if op.declaration.library.refusal(False) else op


def _declared(name, closed, constants, reference, options):
  operands, results = closed.in_avals, closed.out_avals
  names = [
      f"c{i}" if i < constants else f"x{i - constants}"
      for i in range(len(operands))
  ]
  rows = options.least_rows or speed.least_rows(closed.jaxpr)
  library = Handlers(rows)

  def declared(own):
    return declaring.declared(
        own,
        library=library,
        signature=_signature(operands, results),
        reference=reference,
        dtypes={n: [x.dtype] for n, x in zip(names, operands)},
        operands=names,
        results=Results(dtypes=lambda *_: [x.dtype for x in results]),
        choice=Choice(is_faster=options.is_faster, strict=options.strict),
    )

  # Equal functions have equal names in each process: caches of jax find them.
  plain = re.sub(r"\W", "_", name)
  library.belong_to(declared(plain))
  text = library.first_text() or str(closed.jaxpr)
  declaration = declared(f"{plain}_{hash_of(text)}")
  library.belong_to(declaration)
  if options.least_rows is None:
    library.least_rows = answers.find(declaration.name) or library.least_rows
  return Op(declaration, __name__)


def _signature(operands, results):
  side = lambda avals: ",".join(
      f"({','.join(map(_size, x.shape))})" for x in avals
  )
  return f"{side(operands)}->{side(results)}"


def _size(n):
  """Returns a size as signatures have it: 2n in place of 2*n."""
  return str(n).replace(" ", "").replace("*", "")
